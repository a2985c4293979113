//! Facts read from the text of a kernel, without running it.

pub(crate) mod calls;
pub(crate) mod canonical_form;
pub(crate) mod differing_statements;
pub(crate) mod effects;
pub(crate) mod evaluation_order;
pub(crate) mod kernel;
pub(crate) mod later_reads;
pub(crate) mod layout;
pub(crate) mod naming_heuristics;
pub(crate) mod paths;
pub(crate) mod qualifiers;
pub(crate) mod reachable_globals;
pub(crate) mod stable;
pub(crate) mod stretch;
