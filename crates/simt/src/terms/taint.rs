//! What a value is made of, as far as atomics are concerned: which of them it came from, and how.

use shaderlint_hlsl::BinaryOp;

use crate::terms::source::Source;
use crate::terms::value::Op;

/// What is known of a value without looking at what it is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
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
                Op::Same | Op::Offset | Op::Unary(..) | Op::Cast { .. } | Op::Intrinsic { .. } => true,
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
                source: Source::Counter(mark),
                ..
            } => {
                facts.counters |= mark.bit();
                facts.slots |= mark.bit();
            }
            Op::AtomicResult {
                source: Source::Other(mark),
                ..
            } => facts.counters |= mark.bit(),
            _ => {}
        }
        facts
    }
}
