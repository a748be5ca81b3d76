"""The part of SARIF 2.1.0 that ckrules writes, as a JSON schema of its own.

Names, required properties, enumerations and minima follow the standard's text (sections 3.13 to
3.55); objects allow no other property, so a slip of the pen is an error here.
"""

from __future__ import annotations

from typing import Any


def _object(required: str, **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required.split(),
        "additionalProperties": False,
    }


def _list(items: Any, least: int = 0) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": least}


TEXT = {"type": "string"}
BAG = {"type": "object"}
POSITIVE = {"type": "integer", "minimum": 1}
INDEX = {"type": "integer", "minimum": -1}
LEVEL = {"enum": ["none", "note", "warning", "error"]}
URI = {"type": "string", "pattern": r"^[A-Za-z][A-Za-z0-9+.-]*:"}
REFERENCE = {"type": "string", "pattern": r"^[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]+$"}
MULTI = _object("text", text=TEXT, markdown=TEXT)
MESSAGE = _object("text", text=TEXT, markdown=TEXT)
ARTIFACT = _object("uri", uri=REFERENCE)
REGION = _object(
    "startLine", startLine=POSITIVE, startColumn=POSITIVE, endLine=POSITIVE, endColumn=POSITIVE
)
PHYSICAL = _object("artifactLocation", artifactLocation=ARTIFACT, region=REGION)
LOGICAL = _object("", name=TEXT, kind=TEXT)
LOCATION = _object(
    "", id={"type": "integer", "minimum": 0}, physicalLocation=PHYSICAL,
    logicalLocations=_list(LOGICAL), message=MESSAGE,
)  # fmt: skip
REPLACEMENT = _object("deletedRegion", deletedRegion=REGION, insertedContent=_object("", text=TEXT))
CHANGE = _object(
    "artifactLocation replacements", artifactLocation=ARTIFACT, replacements=_list(REPLACEMENT, 1)
)
FIX = _object(
    "artifactChanges", description=MESSAGE, artifactChanges=_list(CHANGE, 1), properties=BAG
)
SUPPRESSION = _object("kind", kind={"enum": ["inSource", "external"]}, justification=TEXT)
RULE = _object(
    "id", id=TEXT, name=TEXT, shortDescription=MULTI, fullDescription=MULTI, help=MULTI,
    helpUri=URI, defaultConfiguration=_object("", level=LEVEL), properties=BAG,
)  # fmt: skip
RESULT = _object(
    "message", ruleId=TEXT, ruleIndex=INDEX, level=LEVEL, message=MESSAGE,
    locations=_list(LOCATION), relatedLocations=_list(LOCATION), fixes=_list(FIX),
    partialFingerprints={"type": "object", "additionalProperties": TEXT},
    suppressions=_list(SUPPRESSION), properties=BAG,
)  # fmt: skip
DRIVER = _object("name", name=TEXT, version=TEXT, semanticVersion=TEXT, rules=_list(RULE))
RUN = _object(
    "tool", tool=_object("driver", driver=DRIVER), results=_list(RESULT),
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
)  # fmt: skip
SCHEMA: dict[str, Any] = {
    **_object("version runs", version={"const": "2.1.0"}, runs=_list(RUN)),
    "$schema": "http://json-schema.org/draft-07/schema#",
}
SCHEMA["properties"]["$schema"] = URI
