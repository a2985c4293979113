//! Fits a wave form into the text around its ladder.

use shaderlint_hlsl::{FunctionId, Intrinsic, Shader, Span, blank_comments};
use shaderlint_simt::Collective;

use crate::fixes::waves::code::Code;
use crate::fixes::waves::form::WaveForm;
use crate::source::words::words;

/// How a form stands in the text around its ladder.
pub(crate) struct Fit {
    /// What it takes the place of.
    pub over: Span,
    has_braces: bool,
    /// The barriers in the rest of macro calls, before the ladder and behind it: they stay.
    barriers: [Vec<String>; 2],
}

impl Fit {
    pub fn of(shader: &Shader, found: &Collective, form: &WaveForm) -> Fit {
        if let Some(sole) = &form.sole_use {
            return Fit {
                over: sole.over,
                has_braces: false,
                barriers: Default::default(),
            };
        }
        match replaced(shader, found.span) {
            Some((over, barriers)) => Fit {
                over,
                has_braces: !(form.is_flat && stands_in_block(shader, found.function, over)),
                barriers,
            },
            None => Fit {
                over: found.span,
                has_braces: true,
                barriers: Default::default(),
            },
        }
    }

    /// Whether the text is a block and nothing else.
    pub fn is_block(&self) -> bool {
        self.has_braces && self.barriers[0].is_empty()
    }

    /// How many of the barriers that stay are calls of `barrier`.
    pub fn count(&self, barrier: &str) -> usize {
        let all = self.barriers.iter().flatten();
        all.filter(|other| other.trim() == barrier).count()
    }

    /// The text that takes the place.
    pub fn text(&self, code: &Code) -> String {
        let [before, behind] = self.barriers.each_ref().map(|barriers| {
            let calls = barriers.iter().map(|barrier| format!("{barrier}();"));
            calls.collect::<Vec<String>>()
        });
        let statements = if self.has_braces {
            code.in_braces()
        } else {
            code.without_braces()
        };
        [before, vec![statements], behind].concat().join("\n")
    }
}

/// The text that a form replaces: the statements, the rest of the macro calls that they are part of, and a semicolon
/// behind such a call. In that rest may be barriers, before the statements and behind them; `None` where it has more.
fn replaced(shader: &Shader, statements: Span) -> Option<(Span, [Vec<String>; 2])> {
    let whole = shader.origins.whole_calls(statements);
    let [before, behind] =
        [(whole.start, statements.start), (statements.end, whole.end)].map(|(start, end)| {
            let text = Span { start, end }.slice(&shader.text).trim_ascii();
            let calls = text.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
            let calls = calls.filter(|call| !call.is_empty());
            let names =
                calls.map(|call| Some(std::str::from_utf8(call.strip_suffix(b"()")?).ok()?.to_owned()));
            let names = names.collect::<Option<Vec<String>>>()?;
            let is_barrier =
                |name: &String| Intrinsic::from_name(name.trim()).is_some_and(Intrinsic::is_group_barrier);
            names.iter().all(is_barrier).then_some(names)
        });
    let is_followed = shader.text.get(whole.end as usize) == Some(&b';');
    let end = whole.end + u32::from(is_followed);
    Some((Span { end, ..whole }, [before?, behind?]))
}

/// Whether several statements with their declarations may replace a statement: it is among others in braces, and in
/// no `switch`, which may jump over declarations.
fn stands_in_block(shader: &Shader, function: FunctionId, statement: Span) -> bool {
    let Some(function) = shader.functions.get(function.0 as usize) else {
        return false;
    };
    let before = Span {
        end: statement.start,
        ..function.span
    };
    let before = blank_comments(before.slice(&shader.text));
    let is_of_switch = words(&before).any(|word| word == b"switch");
    !is_of_switch && matches!(before.trim_ascii_end().last(), Some(b';' | b'{' | b'}'))
}
