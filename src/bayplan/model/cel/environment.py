"""What an expression may use: the functions that Kubernetes adds to CEL, and the variables of the place it stands in.

Gives an environment of the library, which parses and checks expressions. Loaded when the first expression is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from bayplan.model.cel import network
from bayplan.model.cel.extensions import declarations
from bayplan.model.cel.values import Declarations


def new_environment(
    variables_of: Callable[[Any, Any], Mapping[str, Any]],
    *,
    without: Collection[str] = (),
    pool: Any = None,
    more: Callable[[Any], Declarations] | None = None,
) -> Any:
    """An environment with these variables and all functions but those named.

    Args:
        variables_of: takes the library's types and the type of quantities, and gives the variables with their types.
        without: functions that are not known where the expression stands.
        pool: protobuf descriptors of the types of objects, if expressions know any.
        more: takes the library's types, and gives functions that are known where the expression stands alone.
    """
    from cel_expr_python import cel  # noqa: PLC0415 - loaded when the first expression is
    from cel_expr_python.ext import ext_bindings, ext_optional  # noqa: PLC0415

    types = cel.Type
    quantity, semver = types.AbstractType("kubernetes.Quantity"), types.AbstractType("kubernetes.Semver")
    functions = [
        cel.FunctionDecl(
            name,
            [
                cel.Overload(f"{name}_{place}", result, parameters, is_member)
                for place, (is_member, parameters, result) in enumerate(overloads)
            ],
        )
        for name, overloads in (
            *declarations(types, quantity, semver),
            *network.declarations(types),
            *(() if more is None else more(types)),
        )
        if name not in without
    ]
    extensions = [ext_bindings.ExtBindings(), ext_optional.ExtOptional()]
    variables = dict(variables_of(types, quantity))
    return cel.NewEnv(descriptor_pool=pool, variables=variables, extensions=extensions, functions=functions)
