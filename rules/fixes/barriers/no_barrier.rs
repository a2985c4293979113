//! Why no barrier is offered.

use shaderlint_hlsl::Span;
use shaderlint_linter::{Context, NoFix, Reason};
use shaderlint_simt::{Instance, Race};

use crate::describe::witness;
use crate::fixes::barriers::places::left_before;

/// Why there is no fix.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum NoBarrier {
    /// A barrier was tried at each place, and none ends the race.
    NoPlace {
        /// The finding has several races, and none of them ends.
        of_several: bool,
        /// The kernel has other races. Without these a barrier may be found.
        is_beside_others: bool,
    },
    /// A barrier ends them in the tried runs, which do not know the declarations in missing files.
    Unsure {
        lacks_includes: bool,
    },
    /// The run of the first group found them, which says nothing about a barrier in other groups.
    FirstGroup,
    /// No barrier ends them, and threads may have left by this statement.
    Left(Span),
    /// Barriers end them only if the conditions around them end too.
    NeedsMore,
    TooLong,
    Because(NoFix),
}

impl NoBarrier {
    /// A barrier ends them in the tried runs.
    pub fn unsure(context: &Context<'_>) -> NoBarrier {
        NoBarrier::Unsure {
            lacks_includes: !context.shader.gaps.is_empty(),
        }
    }

    /// No place will do; with `is_unproved`, one does in the tried runs.
    pub fn in_vain(context: &Context<'_>, lines: &[Vec<&Race>], is_unproved: bool) -> NoBarrier {
        let is_of_first_group = |race: &&Race| race.given.iter().any(Instance::is_of_group);
        if !is_unproved {
            let told = lines.iter().map(Vec::len).sum::<usize>();
            let no_place = NoBarrier::NoPlace {
                of_several: lines.len() > 1,
                is_beside_others: context.analysis.races.len() > told,
            };
            let race = lines.first().and_then(|races| races.first());
            let left = race.and_then(|race| left_before(context, race));
            left.map_or(no_place, NoBarrier::Left)
        } else if lines.iter().flatten().all(is_of_first_group) {
            NoBarrier::FirstGroup
        } else {
            NoBarrier::unsure(context)
        }
    }

    /// Whether barriers were tried in vain.
    pub fn is_in_vain(&self) -> bool {
        matches!(
            self,
            NoBarrier::NoPlace { .. } | NoBarrier::Left(_) | NoBarrier::Unsure { .. } | NoBarrier::FirstGroup
        )
    }

    pub fn no_fix(self, context: &Context<'_>) -> NoFix {
        match self {
            NoBarrier::Left(place) => {
                let at = witness::on_lines(context, &[place], place);
                let text = format!(
                    "threads may leave the kernel in the code {at}, and no barrier after that code is proved to \
                     end the race"
                );
                NoFix::new(Reason::Leaves, text).at(place)
            }
            NoBarrier::Unsure {
                lacks_includes: false,
            } => {
                let text = "a barrier ended the race in the tested runs, but is not proved to end it in every \
                     run";
                NoFix::new(Reason::SomeInputs, text)
            }
            NoBarrier::Unsure { lacks_includes: true } => {
                let text = "an `#include` was not found: a barrier ended the race in the tested runs, but is \
                     not proved to end it";
                NoFix::new(Reason::MissingInclude, text)
            }
            NoBarrier::FirstGroup => {
                let text = "the race was found in the first group, whose SV_GroupID is 0, but a barrier \
                     must be proved for all groups";
                NoFix::new(Reason::FirstGroup, text)
            }
            NoBarrier::NoPlace {
                of_several,
                is_beside_others,
            } => {
                let (access, ends) = if of_several {
                    ("a later access", "any of these races")
                } else {
                    ("the later access", "the race")
                };
                let beside = if is_beside_others {
                    " while the kernel has other races"
                } else {
                    ""
                };
                let text = format!(
                    "could not prove that any single barrier, before {access} or before a statement around it, ends \
                     {ends}{beside}"
                );
                NoFix::new(Reason::NoSingleBarrier, text)
            }
            NoBarrier::NeedsMore => {
                let text = "barriers alone do not end the race: the `if`s around them must be split too";
                NoFix::new(Reason::Conditions, text)
            }
            NoBarrier::TooLong => NoFix::new(
                Reason::TooLong,
                "proving that a barrier ends the race would take too long",
            ),
            NoBarrier::Because(why) => why,
        }
    }
}
