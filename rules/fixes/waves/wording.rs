//! What a wave form needs, and what it does otherwise than the ladder, in words.

use shaderlint_linter::{Context, NoFix, Reason, ShaderModel};
use shaderlint_simt::{Collective, Kind, Operator};

use crate::fixes::waves::replacement::Proved;

/// What the offered wave form needs: the assumptions of its proof.
pub(crate) fn needs(found: &Collective, proved: &Proved, needed: ShaderModel) -> String {
    let packing = if proved.is_linear {
        LINEAR
    } else if found.kind == Kind::Reduction {
        ANY
    } else {
        ANY_BY_ONE_WAVE
    };
    let barriers = in_words(proved.barriers);
    format!("the wave form {barriers}needs shader model {needed} and {packing}")
}

/// The beginning of a sentence about so many barriers.
fn in_words(barriers: usize) -> String {
    match barriers {
        0 => String::new(),
        1 => "passes one barrier; it ".to_owned(),
        2 => "passes two barriers; it ".to_owned(),
        3 => "passes three barriers; it ".to_owned(),
        more => format!("passes {more} barriers; it "),
    }
}

/// What the linear forms assume.
pub(crate) const LINEAR: &str =
    "waves that hold consecutive threads (all known implementations pack 1-D groups this way)";

/// What the other forms of a reduction assume.
pub(crate) const ANY: &str = "nothing else: any threads may share a wave";

/// What the other forms of a scan assume.
const ANY_BY_ONE_WAVE: &str = "nothing else: the wave of thread 0 scans all elements";

/// How wave forms treat floats otherwise than the ladder.
pub(crate) fn of_floats(found: &Collective) -> Vec<String> {
    let rounds = "wave intrinsics combine floats in another order, so results may round differently";
    let of_extrema =
        "HLSL does not specify what wave intrinsics return for NaNs, or which of -0 and +0 is smaller";
    let picks_floats = |operator: Operator| operator.is_extremum() && operator.is_on_floats();
    let said = [
        (!found.is_exact(), rounds),
        (found.operators().any(picks_floats), of_extrema),
    ];
    let said = said.into_iter().filter(|(is_so, _)| *is_so);
    said.map(|(_, text)| text.to_owned()).collect()
}

/// Why there is no fix for such a group.
pub(crate) fn no_packing(context: &Context<'_>, what: &str) -> NoFix {
    let [x, y, z] = context.analysis.group_size;
    let text = format!("shaderlint writes no wave form for {what} in a group of {x}\u{d7}{y}\u{d7}{z}");
    NoFix::new(Reason::Rows, text)
}
