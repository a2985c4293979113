//! What the wave forms of scans and reductions are made of.

use shaderlint_hlsl::Scalar;
use shaderlint_linter::FixForm;
use shaderlint_simt::{Collective, LaneMap, Operator};

use crate::group_helper::Helper;
use crate::sole_use::SoleUse;
use crate::totals::Totals;
use crate::written::BARRIER;

/// The barrier of the forms that stand for a ladder: of groupshared memory, which they work on; of all memory where one
/// of the ladder's barriers, or a fence in it, orders device memory, as other groups may rely on that.
pub(crate) fn barrier_of(found: &Collective) -> &'static str {
    if found.orders_device {
        "AllMemoryBarrierWithGroupSync"
    } else {
        BARRIER
    }
}

/// Text that replaces a construct, and what it needs declared.
pub(crate) struct WaveForm {
    /// Statements, four spaces an indentation step, without a line break at the end.
    pub block: String,
    /// The same with the group's size in figures, where `block` has its name.
    pub expanded: Option<String>,
    /// Of each of its results.
    pub totals: Vec<Totals>,
    /// It keeps totals in groupshared memory, be it in an array that the file has.
    pub keeps_totals: bool,
    /// A function that the block calls.
    pub helper: Option<Helper>,
    /// What the block declares has names that are free in the function: where it stands in another one, its braces may go.
    pub is_flat: bool,
    /// The array that goes with the ladder.
    pub sole_use: Option<SoleUse>,
    /// The packings of threads into waves that it is right under.
    pub maps: &'static [LaneMap],
}

impl WaveForm {
    /// A block that calls nothing of the file.
    pub fn new(
        block: String,
        expanded: Option<String>,
        totals: Vec<Totals>,
        maps: &'static [LaneMap],
    ) -> WaveForm {
        WaveForm {
            block,
            expanded,
            keeps_totals: !totals.is_empty(),
            totals,
            helper: None,
            is_flat: false,
            sole_use: None,
            maps,
        }
    }

    pub fn kind(&self) -> FixForm {
        if self.helper.is_some() {
            FixForm::Helper
        } else {
            FixForm::Inline
        }
    }

    /// The block, and the function that it calls.
    pub fn text(&self) -> String {
        let helper = self.helper.iter().map(|helper| &*helper.text);
        std::iter::once(&*self.block)
            .chain(helper)
            .collect::<Vec<_>>()
            .join("\n")
    }

    /// How often a thread waits in it by this barrier.
    pub fn barriers(&self, barrier: &str) -> usize {
        self.text().matches(barrier).count()
    }
}

/// The identity of an operator, as HLSL text of a type. One of a 16-bit float says its type: beside a `float` the other operand of
/// `?:` would become one.
pub(crate) fn neutral(operator: Operator, element: Scalar, ty: &str) -> String {
    let of_float = |text: &str| match element {
        // `half2(0.0)` has too few components.
        Scalar::Half if ty.ends_with(|last: char| matches!(last, '2'..='4')) => format!("({ty}){text}"),
        Scalar::Half => format!("{ty}({text})"),
        _ => text.to_owned(),
    };
    let text = match (operator, element) {
        (Operator::FloatAdd, _) => return of_float("0.0"),
        (Operator::FloatMul, _) => return of_float("1.0"),
        (Operator::MinFloat, _) => return of_float("asfloat(0x7f800000u)"),
        (Operator::MaxFloat, _) => return of_float("asfloat(0xff800000u)"),
        (Operator::Add | Operator::Or | Operator::Xor, Scalar::Int) => "0",
        (Operator::Mul, Scalar::Int) => "1",
        (Operator::Mul, _) => "1u",
        (Operator::And, Scalar::Int) => "-1",
        (Operator::And | Operator::MinUint, _) => "0xffffffffu",
        (Operator::MinInt, _) => "2147483647",
        (Operator::MaxInt, _) => "int(0x80000000u)",
        (Operator::Add | Operator::Or | Operator::Xor | Operator::MaxUint, _) => "0u",
    };
    text.to_owned()
}
