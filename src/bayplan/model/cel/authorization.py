"""What a user may do, as expressions ask it: `authorizer.group('apps').resource('deployments').check('create')`.

`AUTHORIZATION` carries the functions out, `declarations` describes them to the checker. Whoever is known to the server
may do everything, so every check is allowed; nothing is looked up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from bayplan.model.cel.operators import Function, no_such_overload
from bayplan.model.cel.values import Declarations

AUTHORIZER: Final = "kubernetes.authorization.Authorizer"
RESOURCE_CHECK: Final = "kubernetes.authorization.ResourceCheck"
_PATH_CHECK: Final = "kubernetes.authorization.PathCheck"
_GROUP_CHECK: Final = "kubernetes.authorization.GroupCheck"
_DECISION: Final = "kubernetes.authorization.Decision"

#: Functions, what they are called on, how many texts they take, and what they give.
# Upstream: apiserver/pkg/cel/library/authz.go (v1.36).
_STEPS: Final = (
    ("path", AUTHORIZER, 1, _PATH_CHECK),
    ("group", AUTHORIZER, 1, _GROUP_CHECK),
    ("serviceAccount", AUTHORIZER, 2, AUTHORIZER),
    ("resource", _GROUP_CHECK, 1, RESOURCE_CHECK),
    *((name, RESOURCE_CHECK, 1, RESOURCE_CHECK) for name in ("subresource", "namespace", "name")),
    *((name, RESOURCE_CHECK, 1, RESOURCE_CHECK) for name in ("fieldSelector", "labelSelector")),
    ("check", _PATH_CHECK, 1, _DECISION),
    ("check", RESOURCE_CHECK, 1, _DECISION),
)
_ANSWERS: Final = (("errored", False), ("error", ""), ("allowed", True), ("reason", ""))


class Authorization:
    """A question about permissions, as far as it has been asked."""

    def __init__(self, kind: str) -> None:
        self.kind = kind


def _next(name: str) -> Function:
    results = {of: result for step, of, _, result in _STEPS if step == name}

    def ask(asked: Any, *texts: Any) -> Authorization:
        if not isinstance(asked, Authorization) or asked.kind not in results:
            raise no_such_overload(name, asked, *texts)
        return Authorization(results[asked.kind])

    return ask


def _answer(name: str, value: Any) -> Function:
    def ask(asked: Any) -> Any:
        if not isinstance(asked, Authorization) or asked.kind != _DECISION:
            raise no_such_overload(name, asked)
        return value

    return ask


AUTHORIZATION: Final[dict[str, Callable[..., Any]]] = {
    **{name: _next(name) for name, *_ in _STEPS},
    **{name: _answer(name, value) for name, value in _ANSWERS},
}


def declarations(types: Any) -> Declarations:
    """The functions for the checker."""
    overloads: dict[str, list[tuple[bool, list[Any], Any]]] = {}
    for name, of, texts, result in _STEPS:
        parameters = [types.AbstractType(of), *[types.STRING] * texts]
        overloads.setdefault(name, []).append((True, parameters, types.AbstractType(result)))
    for name, value in _ANSWERS:
        result = types.BOOL if isinstance(value, bool) else types.STRING
        overloads[name] = [(True, [types.AbstractType(_DECISION)], result)]
    return [*overloads.items()]
