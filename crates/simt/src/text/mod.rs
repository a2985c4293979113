//! What is read off the text of a kernel, without running it: what statements may touch ([`effects`]) and mean
//! ([`meaning`]), what a run can come to ([`named`]), what a call is ([`calls`]), how a variable's cells are elements
//! ([`layout`]), which expressions hang on an order that is open ([`unordered`]), what may be read behind some statements
//! ([`afterwards`]), which variables have one value ([`stable`]), in which statements two texts differ ([`differing`],
//! [`stretch`]) and how threads come to these ([`way`]), and what names say ([`custom`]).

pub(crate) mod afterwards;
pub(crate) mod calls;
pub(crate) mod custom;
pub(crate) mod differing;
pub(crate) mod effects;
pub(crate) mod layout;
pub(crate) mod meaning;
pub(crate) mod named;
pub(crate) mod stable;
pub(crate) mod stretch;
pub(crate) mod unordered;
pub(crate) mod way;
