//! Everything that an entry point reaches: functions, globals, atomic cells.

use std::collections::{BTreeMap, BTreeSet};

use shaderlint_hlsl::{
    Expr, ExprKind, Function, FunctionId, GlobalId, Intrinsic, Method, Shader, Span, Storage, Type,
    expressions,
};

use super::LowerError;
use super::texture_use::{TextureUse, use_of};
use super::types::FieldPaths;

/// Most functions. A function counts once for each set of resources it is called with.
const INSTANCES: usize = 512;
/// Deepest chain of calls.
const CALL_DEPTH: usize = 48;

/// A function and the resources it is called with, one slot a parameter. WGSL cannot pass buffers, so each set of them gets
/// a function of its own.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Instance {
    pub(super) function: FunctionId,
    pub(super) resources: Vec<Option<GlobalId>>,
}

impl Instance {
    /// The global that `expr` names, by itself or by a resource parameter of this instance.
    pub(super) fn global_of(&self, function: &Function, expr: &Expr) -> Option<GlobalId> {
        match &expr.kind {
            ExprKind::Global(id) => Some(*id),
            ExprKind::Local(local) => {
                let at = function.parameters.iter().position(|p| p.local == *local)?;
                *self.resources.get(at)?
            }
            _ => None,
        }
    }

    /// The instance of `callee` that a call runs; `None` where a resource argument is not a plain name.
    pub(super) fn callee(
        &self,
        within: &Function,
        callee: &Function,
        id: FunctionId,
        arguments: &[Expr],
    ) -> Option<Instance> {
        let mut resources = Vec::new();
        for (at, parameter) in callee.parameters.iter().enumerate() {
            let ty = callee
                .locals
                .get(parameter.local.0 as usize)
                .map(|local| &local.ty);
            resources.push(if matches!(ty, Some(Type::Resource(..))) {
                Some(self.global_of(within, arguments.get(at)?)?)
            } else {
                None
            });
        }
        Some(Instance {
            function: id,
            resources,
        })
    }
}

#[derive(Debug, Default)]
pub(super) struct Reach {
    /// Callees before callers; the entry point is last.
    pub(super) order: Vec<Instance>,
    pub(super) globals: BTreeSet<GlobalId>,
    pub(super) atomics: BTreeMap<GlobalId, FieldPaths>,
    /// Structured buffers whose hidden counter the kernel uses.
    pub(super) counters: BTreeSet<GlobalId>,
    pub(super) textures: BTreeMap<GlobalId, TextureUse>,
    /// Resources whose length or size the kernel asks for.
    pub(super) asked: BTreeSet<GlobalId>,
    pub(super) uses_waves: bool,
    /// It calls `WaveGetLaneIndex` or `QuadReadLaneAt`.
    pub(super) uses_lane_index: bool,
    /// It calls `WavePrefixCountBits`, which can do without the lane index.
    pub(super) counts_lanes_before: bool,
    /// It calls `WaveIsFirstLane`.
    pub(super) uses_thread_index: bool,
    pub(super) uses_lane_count: bool,
}

pub(super) fn reach(shader: &Shader, entry: FunctionId) -> Result<Reach, LowerError> {
    let mut walk = Walk {
        shader,
        reach: Reach::default(),
        active: Vec::new(),
        seen: BTreeSet::new(),
    };
    let Some(function) = shader.functions.get(entry.0 as usize) else {
        return Err(LowerError::unsupported("no such function", Span::default()));
    };
    let instance = Instance {
        function: entry,
        resources: vec![None; function.parameters.len()],
    };
    walk.function(instance, function.name_span)?;
    Ok(walk.reach)
}

struct Walk<'a> {
    shader: &'a Shader,
    reach: Reach,
    active: Vec<FunctionId>,
    seen: BTreeSet<Instance>,
}

impl Reach {
    /// The number of dimensions of a texture that is used as an array.
    pub(super) fn dimensions(&self, global: GlobalId) -> Option<u8> {
        match self.textures.get(&global)? {
            TextureUse::Array(dimensions) => Some(*dimensions),
            TextureUse::Other => None,
        }
    }
}

impl<'a> Walk<'a> {
    fn function(&mut self, instance: Instance, from: Span) -> Result<(), LowerError> {
        let shader = self.shader;
        let Some(function) = shader.functions.get(instance.function.0 as usize) else {
            return Err(LowerError::unsupported("a call of an unknown function", from));
        };
        if self.active.contains(&instance.function) {
            return Err(LowerError::unsupported(
                format_args!("`{}` calls itself", function.name),
                from,
            ));
        }
        if self.active.len() >= CALL_DEPTH || self.seen.len() >= INSTANCES {
            return Err(LowerError::unsupported("too many nested calls", from));
        }
        if !self.seen.insert(instance.clone()) {
            return Ok(());
        }
        let Some(body) = &function.body else {
            return Err(LowerError::unsupported(
                format_args!("`{}` is declared but has no body", function.name),
                from,
            ));
        };
        self.active.push(instance.function);
        let mut exprs: Vec<&Expr> = expressions(body).collect();
        for parameter in &function.parameters {
            if let Some(default) = &parameter.default {
                exprs.push(default);
            }
        }
        // Each node tells its own places and calls, so the order of the nodes does not matter.
        let mut at = 0;
        while let Some(expr) = exprs.get(at).copied() {
            at += 1;
            if let Some(init) = self.note(expr, &instance, function)? {
                exprs.extend(init.descendants());
            }
            if let ExprKind::Call(id, arguments) = &expr.kind {
                let Some(callee) = shader.functions.get(id.0 as usize) else {
                    return Err(LowerError::unsupported(
                        "a call of an unknown function",
                        expr.span,
                    ));
                };
                if callee.body.is_none() {
                    continue;
                }
                let Some(next) = instance.callee(function, callee, *id, arguments) else {
                    return Err(LowerError::unsupported(
                        "a resource argument that is not the name of a global",
                        expr.span,
                    ));
                };
                for global in next.resources.iter().flatten() {
                    self.reach.globals.insert(*global);
                }
                self.function(next, expr.span)?;
            }
        }
        self.active.pop();
        self.reach.order.push(instance);
        Ok(())
    }

    /// Notes what one node uses. Returns the initialiser of a `static` global at its first use.
    fn note(
        &mut self,
        expr: &'a Expr,
        instance: &Instance,
        function: &Function,
    ) -> Result<Option<&'a Expr>, LowerError> {
        if let Some((texture, used)) = use_of(self.shader, expr)
            && let Some(global) = instance.global_of(function, texture)
        {
            let known = self.reach.textures.entry(global).or_insert(used);
            *known = known.and(used);
        }
        match &expr.kind {
            ExprKind::Global(id) => {
                let Some(global) = self.shader.globals.get(id.0 as usize) else {
                    return Err(LowerError::unsupported("an unknown global", expr.span));
                };
                if self.reach.globals.insert(*id)
                    && matches!(global.storage, Storage::Const | Storage::Static)
                {
                    return Ok(global.init.as_ref());
                }
            }
            ExprKind::Intrinsic(intrinsic, arguments) => {
                if intrinsic.is_wave() {
                    self.reach.uses_waves = true;
                    self.reach.uses_lane_index |=
                        matches!(intrinsic, Intrinsic::WaveGetLaneIndex | Intrinsic::QuadReadLaneAt);
                    self.reach.counts_lanes_before |= *intrinsic == Intrinsic::WavePrefixCountBits;
                    self.reach.uses_thread_index |= *intrinsic == Intrinsic::WaveIsFirstLane;
                    self.reach.uses_lane_count |= *intrinsic == Intrinsic::WaveGetLaneCount;
                }
                if intrinsic.is_atomic() {
                    let Some(place) = arguments.first() else {
                        return Err(LowerError::unsupported(
                            "an atomic without a destination",
                            expr.span,
                        ));
                    };
                    let Some((global, path)) = atomic_cell(place, instance, function) else {
                        let what = match &place.kind {
                            _ if place.ty == Type::Unknown => "an atomic on something of unknown type",
                            ExprKind::Swizzle(of, _) | ExprKind::Index(of, _)
                                if matches!(of.ty, Type::Vector(..) | Type::Matrix(..)) =>
                            {
                                "an atomic on a component of a vector or matrix"
                            }
                            _ => "an atomic on something that is neither groupshared nor in a buffer",
                        };
                        return Err(LowerError::unsupported(what, place.span));
                    };
                    self.reach.atomics.entry(global).or_default().insert(path);
                }
            }
            ExprKind::Method { object, method, .. } => {
                if let Some(global) = instance.global_of(function, object) {
                    match method {
                        Method::Atomic(_) => {
                            self.reach.atomics.entry(global).or_default().insert(Vec::new());
                        }
                        Method::GetDimensions => {
                            self.reach.asked.insert(global);
                        }
                        Method::Counter(_) => {
                            self.reach.counters.insert(global);
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
        Ok(None)
    }
}

/// The global of an atomic's cell, and the fields on the way to it.
fn atomic_cell(place: &Expr, instance: &Instance, function: &Function) -> Option<(GlobalId, Vec<u32>)> {
    let mut path = Vec::new();
    let mut at = place;
    loop {
        if let Some(global) = instance.global_of(function, at) {
            path.reverse();
            return Some((global, path));
        }
        match &at.kind {
            ExprKind::Index(base, _) if matches!(base.ty, Type::Array(..) | Type::Resource(..)) => at = base,
            ExprKind::Field(base, field) => {
                path.push(*field);
                at = base;
            }
            _ => return None,
        }
    }
}
