//! A thread group that runs, symbolically: [`machine`] has its state, the others what statements, expressions and
//! accesses do to it.

pub(crate) mod access;
pub(crate) mod assign;
pub(crate) mod assumed_barriers;
pub(crate) mod atomic;
pub(crate) mod atomic_history;
pub(crate) mod buffer_tiles;
pub(crate) mod call;
pub(crate) mod control;
pub(crate) mod device_order;
pub(crate) mod divergence;
pub(crate) mod eval;
pub(crate) mod handle;
pub(crate) mod havoc;
pub(crate) mod host;
pub(crate) mod intrinsic;
pub(crate) mod loop_bounds;
pub(crate) mod loop_uniformity;
pub(crate) mod machine;
pub(crate) mod may_happen_in_parallel;
pub(crate) mod memory;
pub(crate) mod method;
pub(crate) mod opaque;
pub(crate) mod over_approximation;
pub(crate) mod place;
pub(crate) mod position;
pub(crate) mod statement;
pub(crate) mod transfer;
pub(crate) mod undeclared;
pub(crate) mod undef_flow;
pub(crate) mod unknown;
pub(crate) mod wave;
