//! Taint: which marks a value derives from, and how.

use shaderlint_hlsl::BinaryOp;

use crate::terms::source::Source;
use crate::terms::value::Op;

/// The taint of a value, kept so that its term need not be searched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Taint {
    /// The value depends on something unknown.
    pub opaque: bool,
    /// The marks of atomics, or of partial results, that the value depends on in any way, one bit each.
    pub marks: u64,
    /// The marks of counters that the value was computed from by arithmetic: it is a position derived from a slot.
    pub slots: u64,
}

impl Taint {
    pub const OPAQUE: Taint = Taint {
        opaque: true,
        marks: 0,
        slots: 0,
    };

    pub fn joined(all: impl Iterator<Item = Taint>) -> Taint {
        all.fold(Taint::default(), |a, b| Taint {
            opaque: a.opaque | b.opaque,
            marks: a.marks | b.marks,
            slots: a.slots | b.slots,
        })
    }

    /// The taint of an operation's result, from that of its arguments.
    pub fn of(op: Op, arguments: impl Iterator<Item = Taint>) -> Taint {
        let mut taint = Taint::default();
        for (number, argument) in arguments.enumerate() {
            let passes_slot = match op {
                Op::Same | Op::Offset | Op::Unary(..) | Op::Cast { .. } | Op::Intrinsic { .. } => true,
                Op::Binary(op, _) => {
                    !op.is_comparison() && !matches!(op, BinaryOp::LogicalAnd | BinaryOp::LogicalOr)
                }
                Op::Select => number > 0,
                _ => false,
            };
            taint.opaque |= argument.opaque;
            taint.marks |= argument.marks;
            if passes_slot {
                taint.slots |= argument.slots;
            }
        }
        match op {
            Op::Opaque { .. } | Op::Havoc { .. } | Op::VolatileLoad { .. } | Op::UnknownByThread { .. } => {
                taint.opaque = true;
            }
            Op::AtomicResult { source, .. } => {
                taint.opaque = true;
                taint.marks |= source.mark().bit();
                if matches!(source, Source::Counter(_)) {
                    taint.slots |= source.mark().bit();
                }
            }
            Op::Mark { mark, .. } => {
                taint.opaque = true;
                taint.marks |= mark.bit();
            }
            _ => {}
        }
        taint
    }
}
