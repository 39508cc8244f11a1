"""Every known reason why Kubernetes answers a world otherwise than we do."""

import msgspec

from dra_oracle import alphas, copies, rewriting
from dra_oracle.rewriting import Rewording


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """A difference on purpose. `reword` puts the question so that Kubernetes has to answer as we do.

    `says` is part of what Kubernetes says wherever this is the reason.
    """

    name: str
    theirs: str
    ours: str
    reword: Rewording
    says: str = ""


REASONS = (
    Reason(
        name="failing-selector",
        theirs="a selector that fails on one device at run time ends the pod's attempt on all nodes",
        ours="that device does not match",
        reword=rewriting.with_selections_spelled_out,
        says="CEL runtime error",
    ),
    Reason(
        name="all-beside-broken-pool",
        theirs="a request for all devices ends the pod's attempt on all nodes where the node reaches any incomplete or "
        "invalid pool",
        ours="it fails, on that node, only beside one that could hold devices it selects",
        reword=rewriting.without_broken_pools(),
        says="asks for all devices, but resource pool",
    ),
    Reason(
        name="all-against-constraint",
        theirs="a request for all devices of which one breaks a constraint ends the pod's attempt on all nodes",
        ours="the node, or that alternative, cannot serve it",
        reword=rewriting.with_all_counted,
        says="because a claim constraint would not be satisfied",
    ),
    Reason(
        name="uncompilable-unnoticed",
        theirs="an expression that does not compile is noticed only when a device is put to it",
        ours="it makes its claim invalid",
        reword=rewriting.with_what_does_not_compile_found_at_once,
    ),
    Reason(
        name="broken-alternative",
        theirs="an alternative whose class is missing or does not compile ends the pod's attempt on all nodes, "
        "though others would do",
        ours="it is passed over",
        reword=rewriting.without_broken_alternatives,
    ),
    Reason(
        name="alternatives-by-request",
        theirs="the devices of one request are never chosen anew to give a later request a better alternative",
        ours="the best combination of alternatives is found, in the order of requests",
        reword=rewriting.with_our_alternatives,
    ),
    Reason(
        name="whole-ranges",
        theirs="ranges of capacity with fractions are rounded to whole numbers until DRAFractionalCapacityRange is on",
        ours="they are exact",
        reword=rewriting.with_exact_ranges,
    ),
    Reason(
        name="binding-switched-off",
        theirs="with binding conditions switched off, devices that bind to a node or have failure conditions only are "
        "handed out, and devices with conditions are none of all devices",
        ours="no device with a field of that feature is handed out, and all devices cannot be had",
        reword=rewriting.without_devices_of(
            "DeviceBindingAndStatus", "bindsToNode", "bindingConditions", "bindingFailureConditions"
        ),
    ),
    Reason(
        name="lists-switched-off",
        theirs="with lists of values switched off, the first device with a list satisfies a constraint over it",
        ours="a list is no value then",
        reword=rewriting.without_lists,
    ),
    Reason(
        name="sharing-switched-off",
        theirs="with consumable capacity switched off, shareable devices are handed out whole",
        ours="they are not handed out",
        reword=rewriting.without_devices_of("ConsumableCapacity", "allowMultipleAllocations"),
    ),
    Reason(
        name="groups-switched-off",
        theirs="with compatibility groups switched off, slices with devices that have some are not seen, and a pool of "
        "which nothing else is seen holds up no request for all devices",
        ours="it does, where it could hold some",
        reword=rewriting.without_broken_pools("grouped"),
    ),
    Reason(
        name="failing-derivation",
        theirs="an expression of a derived attribute that fails on one device ends the pod's attempt on all nodes",
        ours="that device does not have the attribute",
        reword=alphas.with_failing_derivations_passed_over,
        says="evaluate derived attribute",
    ),
    Reason(
        name="contradicting-groups",
        theirs="where devices in use of one counter set have no compatibility group in common, the first ones seen "
        "decide what goes with them",
        ours="nothing does",
        reword=alphas.with_contradicting_groups_closed,
    ),
    Reason(
        name="distinction-switched-off",
        theirs="with consumable capacity switched off, the allocator still heeds distinctAttribute",
        ours="a claim with it is refused, since it belongs to that feature",
        reword=rewriting.with_distinction_refused,
    ),
    Reason(
        name="admin-access",
        theirs="admin access takes part in the search like any other request: it needs counters and capacity, "
        "and keeps later requests of other claims off its devices",
        ours="it takes nothing and needs nothing; only requests of one claim get different devices",
        reword=copies.with_admin_access_to_copies,
    ),
    Reason(
        name="draws-unseen",
        theirs="a taken device that its pool does not publish any more draws nothing from the pool's counters",
        ours="nothing more is handed out that draws from them, while nobody knows what it drew",
        reword=rewriting.with_counters_closed,
    ),
    Reason(
        name="share-of-whole-device",
        theirs="a share that somebody has of a device that is not shareable any more does not keep others off it",
        ours="it takes the device",
        reword=rewriting.with_shares_of_whole_devices_taken,
    ),
    Reason(
        name="overdrawn-elsewhere",
        theirs="one overdrawn counter of a pool keeps back every device of the pool that draws from any counter",
        ours="only those that draw from it",
        reword=rewriting.without_overdrafts,
    ),
    Reason(
        name="former-generation",
        theirs="a former generation that is complete by itself is used where the newer one has no slice for the node",
        ours="a pool counts by its newest generation in the whole cluster",
        reword=rewriting.without_former_generations,
    ),
    Reason(
        name="slice-counts-disagree",
        theirs="slices of one generation that name different resourceSliceCounts are counted by the first one seen",
        ours="such a pool is invalid, in whatever order its slices come",
        reword=rewriting.without_broken_pools("disagreeing"),
    ),
    Reason(
        name="name-twice-in-pool",
        theirs="two devices of one name make a pool invalid only where one node reaches both slices",
        ours="it is invalid on every node",
        reword=rewriting.without_broken_pools("duplicates"),
    ),
)
