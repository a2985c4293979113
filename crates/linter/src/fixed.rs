//! The tree of a fixed translation unit: the subject of a proof of a fix.

use shaderlint_hlsl::{Edited, FunctionId, Shader, Span, Splice};
use shaderlint_simt::calls_unknown;

use crate::finding::{At, Edit};

/// The translation unit with edits in its *expanded* text, and the entry point `entry` in it: the subject of a proof
/// of a fix. `None` where an edit is outside the text, or the entry point is gone.
///
/// It reads only what the entry point needs, so the rest of a file costs a proof next to nothing. An entry point that
/// calls unknown functions needs everything.
#[must_use]
pub fn fixed_shader(shader: &Shader, entry: FunctionId, edits: &[Edit]) -> Option<(Shader, FunctionId)> {
    let edited = Edited::new(shader, edits.iter().map(Edit::splice).collect())?;
    let part = edited.part(entry).and_then(|fixed| {
        let entry = counterpart(shader, entry, &fixed)?;
        Some((fixed, entry))
    });
    if let Some((fixed, entry)) = part
        && !calls_unknown(&fixed, entry)
    {
        return Some((fixed, entry));
    }
    let fixed = edited.whole();
    let entry = counterpart(shader, entry, &fixed)?;
    Some((fixed, entry))
}

/// The translation unit without and with edits in its *expanded* text, both read whole, with the entry point `entry`
/// in each.
#[must_use]
pub fn whole_shaders(
    shader: &Shader,
    entry: FunctionId,
    edits: &[Edit],
) -> Option<[(Shader, FunctionId); 2]> {
    let read = |splices| {
        let whole = Edited::new(shader, splices)?.whole();
        let entry = counterpart(shader, entry, &whole)?;
        Some((whole, entry))
    };
    Some([read(Vec::new())?, read(edits.iter().map(Edit::splice).collect())?])
}

impl Edit {
    /// The edit of the expanded text.
    #[must_use]
    pub fn splice(&self) -> Splice {
        let text = self.expanded.as_ref().unwrap_or(&self.text);
        let (start, end, text) = match self.at {
            At::Over(span) | At::OverChoices(span) => (span.start, span.end, text.clone()),
            At::Before(span) => (span.start, span.start, format!("{text}\n")),
            At::After(span) => (span.end, span.end, format!("\n{text}\n")),
        };
        Splice {
            span: Span { start, end },
            text,
        }
    }
}

/// The counterpart of `entry` in another reading. Overloads may share the name, and a reading has all of them or
/// none: the counterpart has as many entry points of that name before it.
fn counterpart(shader: &Shader, entry: FunctionId, other: &Shader) -> Option<FunctionId> {
    let wanted = shader.functions.get(entry.0 as usize)?;
    let of_name = |shader: &Shader| -> Vec<FunctionId> {
        shader
            .entry_points()
            .filter(|(_, function)| function.name == wanted.name)
            .map(|(id, _)| id)
            .collect()
    };
    let number = of_name(shader).iter().position(|id| *id == entry)?;
    of_name(other).get(number).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: &str = "groupshared uint g[64], other[64];
uint unused(uint a) { return a; }
uint twice(uint a) { return a + a; }
[numthreads(64, 1, 1)] void main(uint i : SV_GroupIndex) { other[i] = 0; }
[numthreads(32, 1, 1)] void main(uint i : SV_GroupIndex, uint2 id : SV_GroupID) { g[i] = 1; }
[numthreads(64, 1, 1)] void last() { missing(); }
";

    /// The unit with `old` made `new`, for the entry point of this number, and the size of its group.
    fn fixed(number: usize, old: &str, new: &str) -> Option<(Shader, u32)> {
        let (shader, _) = shaderlint_hlsl::parse(UNIT.as_bytes().to_vec());
        let (entry, _) = shader.entry_points().nth(number)?;
        let start = String::from_utf8_lossy(&shader.text).find(old)? as u32;
        let span = Span {
            start,
            end: start + old.len() as u32,
        };
        let edit = Edit::new(At::Over(span), new);
        let (shader, entry) = fixed_shader(&shader, entry, &[edit])?;
        let [width, ..] = shader.functions.get(entry.0 as usize)?.group_size?;
        Some((shader, width))
    }

    fn functions(shader: &Shader) -> Vec<&str> {
        shader.functions.iter().map(|function| &*function.name).collect()
    }

    #[test]
    fn of_a_fixed_unit_the_entry_point_is_read_with_what_it_needs() {
        let (shader, width) = fixed(1, "= 1;", "= twice(1);").expect("the entry point");
        assert_eq!((functions(&shader), width), (vec!["twice", "main", "main"], 32));
        let (shader, width) = fixed(0, "= 0;", "= 2;").expect("the entry point");
        assert_eq!((functions(&shader), width), (vec!["main", "main"], 64));
    }

    /// What that does may come to what nothing names.
    #[test]
    fn all_of_a_fixed_unit_is_read_where_the_entry_point_calls_what_is_not_there() {
        let (shader, _) = fixed(2, "missing();", "missing(); g[0] = 1;").expect("the entry point");
        assert_eq!(functions(&shader), ["unused", "twice", "main", "main", "last"]);
        let (shader, _) = fixed(2, "missing();", "g[0] = 1;").expect("the entry point");
        assert_eq!(functions(&shader), ["last"]);
    }
}
