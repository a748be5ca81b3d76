"""The JSON Schema of files that describe a space, which `ckrules.readers.space_file` reads.

It says the forms and the kinds of values. Whether restrictions can be read, names are declared
once, and a cache's configurations have declared values, the reader says.
"""

from __future__ import annotations

from typing import Any

JsonSchema = dict[str, Any]

_VALUE: JsonSchema = {"type": ["number", "string", "boolean"], "description": "a value"}
_VALUES: JsonSchema = {
    "type": "array",
    "items": {"$ref": "#/$defs/value"},
    "description": "the values of a variable",
}
_TEXT: JsonSchema = {
    "type": "string",
    "description": "a condition over the variables, with Python's precedence; never executed",
}
_FORMS = ("variables", "constraints", "ConfigurationSpace", "tune_params")


def spaces() -> JsonSchema:
    """The schema of the forms that ``ckrules count FILE`` reads.

    >>> from jsonschema import Draft202012Validator as Validator
    >>> schema = Validator(spaces())
    >>> schema.is_valid({"tile_m": [16, 32]}), schema.is_valid({"tile_m": 16})
    (True, False)
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Space of ckrules",
        "type": "object",
        "anyOf": [{"$ref": f"#/$defs/{n}"} for n in ("own", "t1", "kernel_tuner", "values")],
        "$defs": {
            "value": _VALUE,
            "values_of_one": _VALUES,
            "condition": _TEXT,
            "own": _own(),
            "t1": _t1(),
            "kernel_tuner": _kernel_tuner(),
            "values": {
                "title": "values by name, no restrictions",
                "propertyNames": {"not": {"enum": list(_FORMS)}},
                "additionalProperties": {"$ref": "#/$defs/values_of_one"},
                "minProperties": 1,
            },
        },
    }


def _own() -> JsonSchema:
    variable = _object(name={"type": "string"}, values={"$ref": "#/$defs/values_of_one"})
    return {
        "title": "variables and constraints",
        **_object(variables=_list(variable, 1), constraints=_list({"$ref": "#/$defs/condition"})),
    }


def _t1() -> JsonSchema:
    listed = {
        "anyOf": [
            {"$ref": "#/$defs/values_of_one"},
            {"type": "string", "description": 'a list as text, such as "[2**i for i in range(3)]"'},
        ]
    }
    text = {"$ref": "#/$defs/condition"}
    inner = _object(TuningParameters=_list(_object(Name={"type": "string"}, Values=listed), 1))
    inner["properties"]["Conditions"] = _list({"anyOf": [text, _object(Expression=text)]})
    return {
        "title": "T1 of the tuners' benchmark suites",
        **_object(ConfigurationSpace=inner),
        **_without("variables", "constraints"),
    }


def _kernel_tuner() -> JsonSchema:
    of_one = {"$ref": "#/$defs/values_of_one"}
    values = {"type": "object", "additionalProperties": of_one, "minProperties": 1}
    made = _object(tune_params=values)
    made["properties"] |= {
        "restrictions": _list({"$ref": "#/$defs/condition"}),
        "cache": {"type": "object", "additionalProperties": {"type": "object"}},
        "objective": {"description": "the measured quantity; a word in its place says a failure"},
    }
    return {
        "title": "parameters, restrictions or a cache of Kernel Tuner",
        **made,
        **_without("variables", "constraints", "ConfigurationSpace"),
    }


def _object(**properties: JsonSchema) -> JsonSchema:
    return {"type": "object", "required": list(properties), "properties": properties}


def _list(items: JsonSchema, least: int = 0) -> JsonSchema:
    return {"type": "array", "items": items, "minItems": least}


def _without(*names: str) -> JsonSchema:
    """Keys by which a file is of another form."""
    return {"not": {"anyOf": [{"required": [n]} for n in names]}}
