"""Problems whose fields and rules are modules of their family's folder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ckrules.support.submodules import package_with, submodule

if TYPE_CHECKING:
    from ckrules.arch import Gpu
    from ckrules.engine.rules import RuleDef
    from ckrules.engine.rules.book import Vocabulary


class FolderProblems:
    """Finds both by name beside the module of its class, or of one that it derives from."""

    def vocabulary(self, ck: str, gpus: Sequence[Gpu]) -> Vocabulary:
        """Fields of kernel and problem, with what follows from them (module ``problem_fields``)."""
        found: Vocabulary = self._beside("problem_fields").vocabulary(ck, gpus)
        return found

    def rules(self) -> list[RuleDef]:
        """What kernels test, and what they do not and should (package ``problem_rules``)."""
        from ckrules.engine.rules.book import collect

        return collect(self._beside("problem_rules"))

    def _beside(self, name: str) -> Any:
        package = package_with(name, type(self))
        if package is None:
            raise NotImplementedError(f"{type(self).__name__}: no module {name} beside it")
        return submodule(package, name)
