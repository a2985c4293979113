//! What a value is made of, as far as atomics are concerned: which of them it came from, and how.

use shaderlint_hlsl::BinaryOp;

use crate::value::Op;

/// Where the value that an atomic found comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Source {
    /// Additions to one cell by all: each thread finds another number. The bit is that of the place in the text; 0 where
    /// there are too many to tell apart.
    Counter(u64),
    /// Threads may each have a cell of their own.
    Spread,
    /// Anything else: which threads find what is not known. The bit as above.
    Other(u64),
}

/// What is known of a value without looking at what it is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    /// It depends on something that was not understood.
    pub opaque: bool,
    /// The counters, by bit, that it depends on in any way.
    pub counters: u64,
    /// Those it was computed from by arithmetic: it is a place that a slot was made into.
    pub slots: u64,
}

impl Facts {
    pub const OPAQUE: Facts = Facts {
        opaque: true,
        counters: 0,
        slots: 0,
    };

    pub fn joined(all: impl Iterator<Item = Facts>) -> Facts {
        all.fold(Facts::default(), |a, b| Facts {
            opaque: a.opaque | b.opaque,
            counters: a.counters | b.counters,
            slots: a.slots | b.slots,
        })
    }

    /// Of an operation, from those of its arguments.
    pub fn of(op: Op, arguments: impl Iterator<Item = Facts>) -> Facts {
        let mut facts = Facts::default();
        for (number, argument) in arguments.enumerate() {
            let passes_slot = match op {
                Op::Same | Op::Unary(..) | Op::Cast { .. } | Op::Intrinsic { .. } => true,
                Op::Binary(op, _) => {
                    !op.is_comparison() && !matches!(op, BinaryOp::LogicalAnd | BinaryOp::LogicalOr)
                }
                Op::Select => number > 0,
                _ => false,
            };
            facts.opaque |= argument.opaque;
            facts.counters |= argument.counters;
            if passes_slot {
                facts.slots |= argument.slots;
            }
        }
        facts.opaque |= matches!(
            op,
            Op::Opaque { .. } | Op::Havoc { .. } | Op::AtomicResult { .. } | Op::VolatileLoad { .. }
        );
        match op {
            Op::AtomicResult {
                source: Source::Counter(bit),
                ..
            } => {
                facts.counters |= bit;
                facts.slots |= bit;
            }
            Op::AtomicResult {
                source: Source::Other(bit),
                ..
            } => facts.counters |= bit,
            _ => {}
        }
        facts
    }
}
