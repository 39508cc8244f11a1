"""What nodes could be made, and which ones are being made."""

from dra_scheduling.inventory.inventory import Inventory, InventoryObject
from dra_scheduling.inventory.machine import Machine, MachineOffering
from dra_scheduling.inventory.machines import MachineTable
from dra_scheduling.inventory.nodepool_templates import PoolTemplate
from dra_scheduling.inventory.nominations import Nominee, nominees_of, place_in, requested_drivers

__all__ = [
    "Inventory",
    "InventoryObject",
    "Machine",
    "MachineOffering",
    "MachineTable",
    "Nominee",
    "PoolTemplate",
    "nominees_of",
    "place_in",
    "requested_drivers",
]
