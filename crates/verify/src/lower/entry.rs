//! Lowers an entry point: reach, globals, functions, validation.

use naga::valid::{Capabilities, ValidationFlags, Validator};
use shaderlint_hlsl::{Function, FunctionId, MAX_THREADS, Shader, Span, is_group_size, threads_in};

use super::entry_inputs::lower_entry_function;
use super::function::lower_function;
use super::module::{ModuleBuilder, Repeat};
use super::reach::reach;
use super::{LowerError, Lowered};

/// Lowers the kernel that starts at `entry`, with some of its statements repeated.
pub(super) fn lower_entry(
    shader: &Shader,
    entry: FunctionId,
    repeat: Option<Repeat>,
) -> Result<Lowered, LowerError> {
    let mut reach = reach(shader, entry)?;
    let Some(function) = shader.functions.get(entry.0 as usize) else {
        return Err(LowerError::unsupported("no such function", Span::default()));
    };
    let group_size = group_size(function)?;
    let order = std::mem::take(&mut reach.order);
    let mut module = ModuleBuilder::new(shader, reach, group_size, repeat);
    module.globals()?;
    module.lane_variables();
    for instance in &order {
        if instance.function == entry {
            let lowered = lower_entry_function(&mut module, instance)?;
            module.ir.entry_points.push(naga::EntryPoint {
                name: function.name.clone(),
                stage: naga::ShaderStage::Compute,
                early_depth_test: None,
                workgroup_size: module.workgroup_size,
                workgroup_size_overrides: None,
                function: lowered,
                mesh_info: None,
                task_payload: None,
                incoming_ray_payload: None,
            });
        } else {
            let lowered = lower_function(&mut module, instance)?;
            let handle = module.ir.functions.append(lowered, naga::Span::UNDEFINED);
            module.functions.insert(instance.clone(), handle);
        }
    }
    if let Some(Repeat { span, .. }) = module.repeat {
        return Err(LowerError::unsupported(
            "nothing to repeat: no statement lies within this place",
            span,
        ));
    }
    let info = validate(&module.ir, function.name_span)?;
    Ok(Lowered {
        module: module.ir,
        info,
        entry: function.name.clone(),
        other_floats: other_floats(&shader.text),
        replaced: module.replaced,
        free: module.free,
        group_size: module.group_size,
        workgroup_size: module.workgroup_size,
        bindings: module.bindings,
        uses_subgroups: module.reach.uses_waves,
        wave_sizes: function.wave_size,
    })
}

/// The entry point's `numthreads`.
fn group_size(function: &Function) -> Result<[u32; 3], LowerError> {
    let Some(group_size) = function.group_size else {
        return Err(LowerError::unsupported(
            format_args!("`{}` has no numthreads", function.name),
            function.name_span,
        ));
    };
    if !is_group_size(group_size) {
        let threads = threads_in(group_size);
        return Err(LowerError::unsupported(
            format_args!("a group of {threads} threads: D3D allows 1 to {MAX_THREADS}"),
            function.group_size_span,
        ));
    }
    Ok(group_size)
}

fn validate(module: &naga::Module, span: Span) -> Result<naga::valid::ModuleInfo, LowerError> {
    Validator::new(
        ValidationFlags::all(),
        Capabilities::SUBGROUP | Capabilities::SHADER_FLOAT16_IN_FLOAT32,
    )
    .validate(module)
    .map_err(|error| {
        let mut message = String::from("internal limitation: naga refuses the lowered kernel");
        let mut cause: Option<&dyn std::error::Error> = Some(error.as_inner());
        while let Some(error) = cause {
            message.push_str(": ");
            message.push_str(&error.to_string());
            cause = error.source();
        }
        LowerError { message, span }
    })
}

/// Why WGSL's floats may differ from those of the text: it has types or literals of 16 bits, or `precise`.
fn other_floats(text: &[u8]) -> Option<&'static str> {
    let words = || text.split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_');
    let is_half = |word: &[u8]| {
        let is_type = |name: &&[u8]| {
            let shape = word.strip_prefix(*name);
            matches!(shape, Some([] | [b'1'..=b'4'] | [b'1'..=b'4', b'x', b'1'..=b'4']))
        };
        let is_literal = matches!(word, [b'0'..=b'9', .., b'h' | b'H']);
        [&b"half"[..], b"float16_t", b"min16float", b"min10float"]
            .iter()
            .any(is_type)
            || is_literal
    };
    if words().any(is_half) {
        return Some("16-bit floats have 32 bits here");
    }
    let is_precise = words().any(|word| word == b"precise");
    is_precise.then_some("WGSL has no `precise`")
}
