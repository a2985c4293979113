//! Headers that nothing includes: functions that are kernels but for the size of their group.

use shaderlint_hlsl::{FileId, Shader, Storage, Type};
use shaderlint_linter::{Category, Report};

use crate::scan::THREAD_INPUTS;

/// What D3D allows.
const MAX_THREADS: u32 = 1024;

/// Makes entry points of the functions of the file itself that have the parameters of one: their groups have a thread
/// for each element of the groupshared arrays, if those are all of one length. What to say of that; `None` if there is
/// no such function, or one with a size of its own.
pub(super) fn take_as_entries(shader: &mut Shader) -> Option<String> {
    if shader.entry_points().next().is_some() {
        return None;
    }
    let shared = shader
        .globals
        .iter()
        .filter(|global| global.storage == Storage::Groupshared);
    let mut arrays = shared.filter_map(|global| match &global.ty {
        Type::Array(_, length) => Some((*length, global.name.clone())),
        _ => None,
    });
    let (length, name) = arrays.next()?;
    if !(2..=MAX_THREADS).contains(&length) || arrays.any(|(other, _)| other != length) {
        return None;
    }
    let mut found = false;
    for function in &mut shader.functions {
        let is_here = shader
            .origins
            .locate(function.name_span)
            .is_some_and(|place| place.file == FileId(0));
        let is_thread = |semantic: &str| {
            let semantic = semantic.to_ascii_lowercase();
            THREAD_INPUTS.contains(&semantic.as_str())
        };
        let mut semantics = function
            .parameters
            .iter()
            .filter_map(|parameter| parameter.semantic.as_deref());
        if is_here && function.body.is_some() && semantics.any(is_thread) {
            function.group_size = Some([length, 1, 1]);
            found = true;
        }
    }
    found.then(|| format!("in a group of {length} threads, the length of {name}"))
}

/// Says what findings suppose. What is proved to compute something does so in a group of that size; a defect may come
/// of the size alone, where each thread was meant to serve several elements, and is not told. Nor is a fix.
pub(super) fn suppose(report: &mut Report, supposed: &str) {
    report
        .findings
        .retain(|finding| finding.category == Category::Perf);
    for finding in &mut report.findings {
        finding.message = format!("{} ({supposed})", finding.message);
        finding.withdraw("the size of the group is supposed");
    }
}
