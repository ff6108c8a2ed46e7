"""Structural EM: boosted models of databases in which some atoms are unknown (SEM and H-SEM)."""

from mlnlearn.structure.structural_em.learner import Mode, StructuralEM
from mlnlearn.structure.structural_em.notes import Learned, Note

__all__ = ["Learned", "Mode", "Note", "StructuralEM"]
