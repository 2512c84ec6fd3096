"""One change as a phrase: `uncordon n1`, `lower its cpu request from 3 cores to 1 core`.

Takes a change as `fix` names it; what follows from it is said elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable

from bayplan.analysis.answers.fixing.answer import Remedy, RemedyKind
from bayplan.report.answers.amounts import bare_amount
from bayplan.report.words import counted

_PHRASES = {
    RemedyKind.SELECTOR_TYPO: "correct {what} to {after} in its node selector",
    RemedyKind.AFFINITY_TYPO: "correct {what} to {after} in its node affinity",
    RemedyKind.TOLERATION_TYPO: "correct {what} to {after} in its tolerations",
    RemedyKind.RESOURCE_TYPO: "correct the resource {what} to {after}",
    RemedyKind.CLAIM_TYPO: "correct the claim {before} to {after} in its volume {what}",
    RemedyKind.GATES: "remove its scheduling gates ({what})",
    RemedyKind.RESUME: "resume {what}",
    RemedyKind.TOLERATION: "add a toleration for the taint {what}",
    RemedyKind.OWN_TOLERATION: "add a toleration for the taint {what} of the nodes that it asks for",
    RemedyKind.NODE_SELECTOR: "drop {what} from its node selector",
    RemedyKind.NODE_AFFINITY: "drop {what} from its node affinity",
    RemedyKind.POD_AFFINITY: "drop its affinity to pods in the same {what}",
    RemedyKind.POD_ANTI_AFFINITY: "drop its anti-affinity to pods in the same {what}",
    RemedyKind.SKEW: "raise maxSkew from {before} to {after} in its spread over {what}",
    RemedyKind.SPREAD: "make its spread over {what} a preference ({after})",
    RemedyKind.HOST_PORT: "drop its host port {what}",
    RemedyKind.PRIORITY: "raise its priority from {before:,} to {after:,} (class {what})",
    RemedyKind.MIN_COUNT: "lower the minCount of {what} from {before} to {after}",
    RemedyKind.UNCORDON: "uncordon {what}",
    RemedyKind.UNTAINT: "remove the taint {before} from {what}",
    RemedyKind.DEVICE_CLAIM: "drop its device claim {what}",
    RemedyKind.VOLUME_CLAIM: "create the PersistentVolumeClaim {what}",
    RemedyKind.BINDING: "bind its claim {what} to a volume",
    RemedyKind.VOLUME: "create a PersistentVolume of {before} in StorageClass {after} for its claim {what}",
    RemedyKind.LOST_VOLUME: "restore the PersistentVolume {after} that its claim {what} is bound to",
    RemedyKind.STORAGE_CLASS: "create the StorageClass {after} that its claim {what} requests",
    RemedyKind.RESOURCE_CLAIM: "create the ResourceClaim {what}",
    RemedyKind.RESOURCE_CLAIM_TEMPLATE: "create the ResourceClaimTemplate {what}",
    RemedyKind.DEVICE_CLASS: "create the DeviceClass {what}",
}


def change_phrases(changes: Iterable[Remedy], moved: int = 0) -> list[str]:
    """What is done several times is said once."""
    phrases = [change_phrase(change, moved) for change in changes]
    return [
        phrase if phrases.count(phrase) == 1 else f"{phrase} ({phrases.count(phrase)} times)"
        for phrase in dict.fromkeys(phrases)
    ]


def change_phrase(change: Remedy, moved: int = 0) -> str:
    """`moved` is how many pods are moved, where that is the change."""
    if change.kind is RemedyKind.REQUEST:
        if not change.after:
            return f"drop its {change.what} request"
        before, after = (bare_amount(change.what, int(each or 0)) for each in (change.before, change.after))
        return f"lower its {change.what} request from {before} to {after}"
    if change.kind is RemedyKind.FREE:
        return f"move {counted(moved, 'pod')} off {change.what}"
    if change.kind is RemedyKind.ADD_NODE:
        return f"add a node like {change.what}" + (f" with {change.after}" if change.after else "")
    phrase = _PHRASES[change.kind].format(what=change.what, before=change.before, after=change.after)
    if change.matches is None:
        return phrase
    return f"{phrase} ({counted(change.matches, 'node')} ha{'s' if change.matches == 1 else 've'} it)"
