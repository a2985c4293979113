//! What ends the races of one finding: barriers, or advice.

use shaderlint_linter::Context;
use shaderlint_simt::Race;

use crate::fixes::barriers::advice::{self, Proved};
use crate::fixes::barriers::missing::{self, Barrier};
use crate::fixes::barriers::no_barrier::NoBarrier;
use crate::fixes::barriers::several;

pub(crate) struct Repair {
    pub barrier: Result<Barrier, NoBarrier>,
    /// The advice where no fix ends all of them.
    pub advice: Option<String>,
}

/// `lines` has the races by line. `steps` counts the steps spent on other races of the kernel.
pub(crate) fn of(context: &Context<'_>, lines: &[Vec<&Race>], steps: &mut u64) -> Repair {
    let barrier = missing::fix(context, lines);
    if matches!(&barrier, Ok(barrier) if barrier.ends_these) {
        return Repair {
            barrier,
            advice: None,
        };
    }
    let races = lines.concat();
    let Some(found) = advice::proved(context, &races, steps) else {
        let order = races.first().map(|race| advice::order(context, race));
        return Repair {
            barrier,
            advice: order,
        };
    };
    if let Some(barrier) = several::fix(context, &races, &found) {
        return Repair {
            barrier: Ok(barrier),
            advice: None,
        };
    }
    let barrier = barrier.map_err(|reason| match reason {
        NoBarrier::NoPlace { .. } if found.is_one_barrier() => NoBarrier::unsure(context),
        NoBarrier::NoPlace { .. } | NoBarrier::TooLong if found.ends_conditions() => NoBarrier::NeedsMore,
        reason => reason,
    });
    let Proved { text, .. } = found;
    Repair {
        barrier,
        advice: Some(text),
    }
}
