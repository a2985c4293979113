//! Taint: which atomics a value derives from, and how.

use shaderlint_hlsl::BinaryOp;

use crate::terms::source::Source;
use crate::terms::value::Op;

/// Facts of a value, kept so that its term need not be searched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Facts {
    /// The value depends on something unknown.
    pub opaque: bool,
    /// The counters that the value depends on in any way, one bit each.
    pub counters: u64,
    /// The counters that the value was computed from by arithmetic: it is a position derived from a slot.
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

    /// The facts of an operation, from those of its arguments.
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
