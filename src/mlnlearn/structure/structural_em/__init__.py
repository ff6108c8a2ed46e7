"""Structural EM: boosted models of databases in which some atoms are unknown (SEM and H-SEM)."""

from mlnlearn.structure.structural_em.learner import Mode, StructuralEM
from mlnlearn.structure.structural_em.notes import EMNotes, Note

__all__ = ["EMNotes", "Mode", "Note", "StructuralEM"]
