"""Budgets for what a source makes grow: patterns, inherited dependencies, followed modules."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Budget:
    """Amount that all packages of one source may use together."""

    left: int
    warning: str  #: what the result lacks once the budget is spent
    spent: bool = False

    def take(self, amount: int = 1) -> bool:
        """Use the amount, and return whether it was left."""
        if amount > self.left:
            self.spent = True
            return False
        self.left -= amount
        return True

    @property
    def warnings(self) -> list[str]:
        return [self.warning] if self.spent else []


#: Dependencies and versions that all manifests of a source take from others.
MAX_INHERITED = 500_000


def inherited_budget() -> Budget:
    """Return a new budget for what manifests take from others."""
    text = f"the manifests take more than {MAX_INHERITED:,} dependencies from others: the rest is left out"
    return Budget(MAX_INHERITED, text)
