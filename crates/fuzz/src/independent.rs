//! Properties that a fix has to preserve and that the engine's comparison may overlook. This module shares no code
//! with the engine.

use std::collections::HashSet;

use shaderlint_hlsl::{
    Expr, ExprKind, Function, FunctionId, GlobalId, Shader, Stmt, Storage, calls, expressions,
};
use shaderlint_simt::Kernel;

/// The bytes of groupshared memory that a mesh shader may use (DirectX mesh shader specification), and those for
/// every other stage (D3D11.3 functional specification, 18.6).
pub const MESH_LIMIT: usize = 28 << 10;
pub const LIMIT: usize = 32 << 10;

/// The maximum depth of calls.
const DEEPEST: usize = 8;

/// Checks that an entry point which fit the groupshared memory still does.
///
/// # Errors
/// How much memory it uses now.
pub fn check_memory(before: Kernel<'_>, after: Kernel<'_>) -> Result<(), String> {
    let limit = limit(before);
    let (old, new) = (memory(before), memory(after));
    if old <= limit && new > limit {
        return Err(format!(
            "{new} bytes of groupshared memory, of {limit} that there are"
        ));
    }
    Ok(())
}

fn limit(Kernel { shader, entry }: Kernel<'_>) -> usize {
    let text = function(shader, entry).map_or(&[][..], |function| function.span.slice(&shader.text));
    let is_mesh = text.windows(14).any(|word| word == b"outputtopology");
    if is_mesh { MESH_LIMIT } else { LIMIT }
}

/// The groupshared memory that an entry point and the functions that it reaches name.
fn memory(Kernel { shader, entry }: Kernel<'_>) -> usize {
    let used: HashSet<GlobalId> = reached(shader, entry)
        .into_iter()
        .map(|id| body_of(shader, id))
        .flat_map(expressions)
        .filter_map(|part| match part.kind {
            ExprKind::Global(global) => Some(global),
            _ => None,
        })
        .collect();
    let arrays = used
        .into_iter()
        .filter_map(|id| shader.globals.get(id.0 as usize))
        .filter(|global| global.storage == Storage::Groupshared);
    arrays.map(|global| 4 * shader.words(&global.ty)).sum()
}

/// Checks that the file's own types are not used more often than before: a fix must not mistake such a type for
/// HLSL's own type or intrinsic of that name. A variable may have the name: it hides the type.
///
/// # Errors
/// The name of the type.
pub fn check_types(before: &Shader, after: &Shader) -> Result<(), String> {
    // Before the name of a declaration, or in the place of a called function.
    let is_use = |behind: &[u8]| {
        let next = behind.trim_ascii_start().first();
        next.is_some_and(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'('))
    };
    let times = |shader: &Shader, name: &[u8]| {
        let text = &shader.text;
        let named = words(text).filter(|word| *word == name);
        let ends = named.map(|word| word.as_ptr() as usize + word.len() - text.as_ptr() as usize);
        ends.filter(|end| is_use(text.get(*end..).unwrap_or_default()))
            .count()
    };
    let mut declared = declared_types(&before.text);
    match declared.find(|name| times(after, name) > times(before, name)) {
        Some(name) => Err(format!(
            "`{}` is a type of the file, and is used where it was not",
            String::from_utf8_lossy(name)
        )),
        None => Ok(()),
    }
}

/// The names after `struct`, and at the ends of `typedef`s.
fn declared_types(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let statements = text.split(|byte| matches!(byte, b';' | b'{' | b'}'));
    statements.filter_map(|statement| {
        let mut words = words(statement);
        match words.next()? {
            b"struct" => words.next(),
            b"typedef" => words.last(),
            _ => None,
        }
    })
}

fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let words = text.split(|byte| !(byte.is_ascii_alphanumeric() || *byte == b'_'));
    words.filter(|word| !word.is_empty())
}

/// The texts of an entry point and of all functions that it reaches.
pub fn text_reached(Kernel { shader, entry }: Kernel<'_>) -> Vec<&[u8]> {
    let functions = reached(shader, entry).into_iter();
    functions
        .filter_map(|id| function(shader, id))
        .map(|function| function.span.slice(&shader.text))
        .collect()
}

fn function(shader: &Shader, id: FunctionId) -> Option<&Function> {
    shader.functions.get(id.0 as usize)
}

fn body_of(shader: &Shader, id: FunctionId) -> &[Stmt] {
    function(shader, id)
        .and_then(|function| function.body.as_deref())
        .unwrap_or_default()
}

fn reached(shader: &Shader, entry: FunctionId) -> Vec<FunctionId> {
    let mut reached = vec![entry];
    let mut next = 0;
    while let Some(id) = reached.get(next).copied() {
        next += 1;
        for called in calls(body_of(shader, id)) {
            if !reached.contains(&called) {
                reached.push(called);
            }
        }
    }
    reached
}

/// A step of a kernel that other groups may observe, in the order of the text: the events of a called function are in
/// the place of its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// A write to a `globallycoherent` buffer.
    Write(GlobalId),
    Barrier {
        orders_device_memory: bool,
        waits: bool,
    },
}

/// Checks the order of writes to `globallycoherent` buffers: if other groups that see a later write also saw what all
/// threads wrote to another buffer before, they still do. Between the two writes a barrier orders device memory, and
/// the threads wait for each other there or later.
///
/// # Errors
/// The two buffers.
pub fn check_order(before: Kernel<'_>, after: Kernel<'_>) -> Result<(), String> {
    let (old, new) = (ordered(before), ordered(after));
    match old.into_iter().find(|pair| !new.contains(pair)) {
        Some((first, second)) => Err(format!(
            "no barrier orders what is written to `{first}` before what is written to `{second}` any more"
        )),
        None => Ok(()),
    }
}

/// The pairs of buffers for which other groups see the writes to the first before those to the second.
fn ordered(Kernel { shader, entry }: Kernel<'_>) -> Vec<(&str, &str)> {
    let mut events = Vec::new();
    note_events(shader, entry, DEEPEST, &mut events);
    let mut ordered = Vec::new();
    for (at, event) in events.iter().enumerate() {
        let Event::Write(first) = *event else { continue };
        let (mut is_ordered, mut is_seen) = (false, false);
        for event in events.iter().skip(at + 1) {
            match *event {
                Event::Barrier {
                    orders_device_memory,
                    waits,
                } => {
                    is_ordered |= orders_device_memory;
                    is_seen |= is_ordered && waits;
                }
                Event::Write(second) if second != first && is_seen => {
                    let name = |id: GlobalId| shader.globals.get(id.0 as usize).map(|global| &*global.name);
                    ordered.extend(name(first).zip(name(second)));
                }
                Event::Write(_) => {}
            }
        }
    }
    ordered
}

fn note_events(shader: &Shader, id: FunctionId, depth: usize, events: &mut Vec<Event>) {
    let coherent = |place: &Expr| {
        place.descendants().find_map(|part| match part.kind {
            ExprKind::Global(id) => shader
                .globals
                .get(id.0 as usize)
                .filter(|global| global.coherent)
                .map(|_| id),
            _ => None,
        })
    };
    for part in expressions(body_of(shader, id)) {
        match &part.kind {
            ExprKind::Assign { target, .. } => events.extend(coherent(target).map(Event::Write)),
            ExprKind::Call(called, _) if depth > 0 => note_events(shader, *called, depth - 1, events),
            ExprKind::Intrinsic(intrinsic, arguments) => {
                let name = intrinsic.name();
                if name.starts_with("Interlocked") {
                    let place = arguments.first();
                    events.extend(place.and_then(coherent).map(Event::Write));
                } else if name.contains("MemoryBarrier") {
                    events.push(Event::Barrier {
                        orders_device_memory: !name.starts_with("Group"),
                        waits: name.ends_with("WithGroupSync"),
                    });
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use shaderlint_hlsl::{FunctionId, NoIncludes, Shader, read};

    use shaderlint_simt::Kernel;

    use super::{check_memory, check_order, check_types};

    fn kernel(text: &str) -> (Shader, FunctionId) {
        let shader = read("0", text.as_bytes(), &[], &NoIncludes).0;
        let entry = shader.entry_points().next().map(|(id, _)| id);
        (shader, entry.expect("a kernel"))
    }

    fn ordered(before: &str, after: &str) -> Result<(), String> {
        let kernel = |between: &str| {
            kernel(&format!(
                "globallycoherent RWStructuredBuffer<uint> Data; globallycoherent RWStructuredBuffer<uint> Flag;\n\
                 void Wait() {{ AllMemoryBarrierWithGroupSync(); }}\n\
                 [numthreads(64, 1, 1)] void Main(uint i : SV_GroupIndex) {{\n\
                 Data[i] = i; {between} if (i == 0) InterlockedOr(Flag[0], 1u); }}"
            ))
        };
        let (before, after) = (kernel(before), kernel(after));
        check_order(Kernel::new(&before.0, before.1), Kernel::new(&after.0, after.1))
    }

    #[test]
    fn a_flag_is_raised_behind_what_it_is_about() {
        let both = "DeviceMemoryBarrier(); GroupMemoryBarrierWithGroupSync();";
        for orders in ["AllMemoryBarrierWithGroupSync();", "Wait();", both] {
            assert_eq!(ordered("Wait();", orders), Ok(()));
            for not in [
                "",
                "DeviceMemoryBarrier();",
                "GroupMemoryBarrierWithGroupSync();",
                "GroupMemoryBarrierWithGroupSync(); DeviceMemoryBarrier();",
            ] {
                assert!(ordered(orders, not).is_err(), "{orders} {not}");
                assert_eq!(ordered(not, not), Ok(()));
            }
        }
    }

    #[test]
    fn a_stage_has_so_much_memory() {
        let take = |attribute: &str, words: usize| {
            let text = format!(
                "groupshared uint g[{words}]; groupshared uint unused[8192];\n\
                 void Use(uint i) {{ g[i] = i; }}\n\
                 {attribute}[numthreads(64, 1, 1)] void Main(uint i : SV_GroupIndex) {{ Use(i); }}"
            );
            kernel(&text)
        };
        for (attribute, words) in [("", 8192), ("[outputtopology(\"triangle\")] ", 7168)] {
            let (fits, does_not) = (take(attribute, words), take(attribute, words + 1));
            let check = |before: &(Shader, FunctionId), after: &(Shader, FunctionId)| {
                check_memory(Kernel::new(&before.0, before.1), Kernel::new(&after.0, after.1))
            };
            assert_eq!(check(&fits, &fits), Ok(()));
            assert_eq!(check(&does_not, &does_not), Ok(()));
            let wrong = format!(
                "{} bytes of groupshared memory, of {} that there are",
                4 * words + 4,
                4 * words
            );
            assert_eq!(check(&fits, &does_not), Err(wrong));
        }
    }

    #[test]
    fn a_type_of_the_file_is_not_taken_for_another() {
        let file = |body: &str| {
            kernel(&format!(
                "struct uint2 {{ uint a; }}; typedef float waveTotal;\n\
                 [numthreads(64, 1, 1)] void Main(uint i : SV_GroupIndex) {{ {body} }}"
            ))
            .0
        };
        let before = file("uint2 own; uint a = i;");
        let wrong = |name: &str| {
            Err(format!(
                "`{name}` is a type of the file, and is used where it was not"
            ))
        };
        assert_eq!(check_types(&before, &file("uint2 own; uint b = i;")), Ok(()));
        assert_eq!(
            check_types(&before, &file("uint2 own; uint2 other;")),
            wrong("uint2")
        );
        assert_eq!(
            check_types(&before, &file("uint a = waveTotal(i);")),
            wrong("waveTotal")
        );
        assert_eq!(
            check_types(&before, &file("uint waveTotal = 1; waveTotal += i;")),
            Ok(())
        );
    }
}
