//! The parts of a wave form of a scan or a reduction.

use shaderlint_hlsl::Scalar;
use shaderlint_linter::FixForm;
use shaderlint_simt::{Collective, LaneMap, Operator};

use crate::fixes::waves::code::Code;
use crate::fixes::waves::group_helper::Helper;
use crate::fixes::waves::sole_use::SoleUse;
use crate::fixes::waves::totals::Totals;
use crate::source::statements::BARRIER;
use crate::source::text::Spelled;

/// The barrier of the forms for a ladder: of groupshared memory, which they use; of all memory where a barrier or a
/// fence of the ladder orders device memory, since other groups may rely on that.
pub(crate) fn barrier_of(found: &Collective) -> &'static str {
    if found.orders_device {
        "AllMemoryBarrierWithGroupSync"
    } else {
        BARRIER
    }
}

/// The barriers of a form besides its own.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Barriers {
    pub first: bool,
    pub last: bool,
}

/// Text that replaces a construct, and the declarations that it needs.
pub(crate) struct WaveForm {
    pub block: Code,
    /// The same with the group's size as a number, where `block` has a name for it.
    pub expanded: Option<Code>,
    /// The totals of each result.
    pub totals: Vec<Totals>,
    /// It keeps totals in groupshared memory, in a new array or one of the file.
    pub keeps_totals: bool,
    /// A function that the block calls.
    pub helper: Option<Helper>,
    /// The names that the block declares are free in the whole function: inside another block it needs no braces.
    pub is_flat: bool,
    /// The array that goes with the ladder, if one does.
    pub sole_use: Option<SoleUse>,
    /// The packings of threads into waves for which it is right.
    pub maps: &'static [LaneMap],
}

impl WaveForm {
    /// A block that calls nothing of the file.
    pub fn new(
        block: Code,
        expanded: Option<Code>,
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

    /// The forms of a ladder whose array goes with it: in the place of the barriers behind the ladder too, without
    /// these, or with a barrier before the call. `write` writes a form, with a barrier first or without;
    /// [`SoleUse::given`] stands for the values in it.
    pub fn without_array(
        sole_use: &SoleUse,
        results: &[String],
        write: impl Fn(bool) -> Option<WaveForm>,
    ) -> impl Iterator<Item = WaveForm> {
        let mut ways = vec![
            (sole_use.to_barrier, false),
            (sole_use.over, false),
            (sole_use.over, true),
        ];
        ways.dedup();
        ways.into_iter().filter_map(move |(over, first)| {
            let mut form = write(first)?;
            if !sole_use.values.is_empty() {
                let expanded = form.expanded.get_or_insert_with(|| form.block.clone());
                let filled = sole_use.filled(&Spelled {
                    in_file: form.block.text,
                    expanded: std::mem::take(&mut expanded.text),
                });
                (form.block.text, expanded.text) = (filled.in_file, filled.expanded);
            }
            form.sole_use = Some(sole_use.replaced(over, results));
            Some(form)
        })
    }

    pub fn kind(&self) -> FixForm {
        if self.helper.is_some() {
            FixForm::Helper
        } else {
            FixForm::Inline
        }
    }

    /// How often a thread waits in it.
    pub fn barriers(&self) -> usize {
        self.block.barriers
            + self
                .helper
                .as_ref()
                .map_or(0, |helper| helper.text.in_file.barriers)
    }
}

/// The identity of an operator, as HLSL text of a type. A 16-bit float names its type: beside a `float` the other
/// operand of `?:` would become a `float`.
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
