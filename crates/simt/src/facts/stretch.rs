//! The stretch of statements in which two kernels differ, and what their texts show about the code around it.

use std::collections::BTreeSet;
use std::ops::Range;

use shaderlint_hlsl::{
    Expr, ExprKind, Function, FunctionId, GlobalId, LocalId, Shader, Span, Stmt, StmtKind, Type, expressions,
    statements,
};

use crate::facts::differing_statements::{
    DECLARING, Difference, OneText, Tail, are_alike, are_one_text, difference, is_barrier, outside, span_of,
    spelled, tails, words,
};
use crate::facts::effects::{Effects, EffectsCache};
use crate::facts::kernel::Kernel;
use crate::facts::later_reads::{Afterwards, ElementsOf};
use crate::facts::layout::MAX_COMPONENTS;
use crate::facts::paths::{Surroundings, call_in, has_results, is_led_there, may_part, way_to};

/// Two kernels, and the stretch in which they differ.
pub(crate) struct Pair<'a> {
    pub sides: [Side<'a>; 2],
    /// The number of statements before the differing ones that both runs include.
    pub leading: usize,
    /// The run may reach the stretch more than once, or run its block again.
    pub repeats: bool,
    /// If the stretch repeats, the names of the groupshared arrays that it may write. Their contents at its start may
    /// differ, so each run gets its own cells.
    pub own: BTreeSet<String>,
    /// The number of variables that are declared before the stretch.
    pub before: usize,
    /// It is not known whether all threads reach the stretch: some may leave before, or not be led there.
    pub assumes_convergence: bool,
    /// Neither kernel may touch more after its last barrier than the other one; otherwise only the second may not.
    pub is_mutual: bool,
    /// The variables that both have at the end of the stretch, in the order of their numbers.
    pub common: Vec<[LocalId; 2]>,
}

/// One of the two kernels.
pub(crate) struct Side<'a> {
    pub kernel: Kernel<'a>,
    pub function: FunctionId,
    /// The functions through which the entry point reaches the stretch, each with the number of its call of the next
    /// one.
    pub way: Vec<(FunctionId, usize)>,
    /// The stretch: statements of one block.
    pub statements: &'a [Stmt],
    /// The statements after these that threads run if a condition holds, up to the last statement that differs.
    pub tail: Option<Tail<'a>>,
    /// The span of the differing statements.
    pub differs: Span,
    /// The effects of the stretch, and of the code that may run after it in its function.
    pub effects: Effects,
    pub afterwards: Effects,
}

impl<'a> Side<'a> {
    /// The stretch from statement `begins` of a block to the end of the differing statements, which are `range`, and
    /// including a barrier right after them.
    fn new(
        kernel: Kernel<'a>,
        function: FunctionId,
        way: Vec<(FunctionId, usize)>,
        block: &'a [Stmt],
        begins: usize,
        range: Range<usize>,
        tail: Option<Tail<'a>>,
    ) -> Side<'a> {
        let is_followed = block.get(range.end).is_some_and(is_barrier);
        let end = if tail.is_some() {
            range.end - 1
        } else {
            range.end + usize::from(is_followed)
        };
        let last = match tail {
            Some(Tail {
                condition,
                statements: [],
            }) => condition.span,
            Some(tail) => span_of(tail.statements),
            None => span_of(&block[range.clone()]),
        };
        Side {
            kernel,
            function,
            way,
            statements: &block[begins..end],
            tail,
            differs: span_of(&block[range.start..=range.start]).to(last),
            effects: Effects::default(),
            afterwards: Effects::default(),
        }
        .with_effects()
    }

    pub fn function(&self) -> Option<&'a Function> {
        self.kernel.shader.functions.get(self.function.0 as usize)
    }

    pub fn span(&self) -> Span {
        let spans = self
            .statements
            .iter()
            .chain(self.in_tail())
            .map(|statement| statement.span);
        spans.reduce(Span::to).unwrap_or_default()
    }

    pub fn in_tail(&self) -> &'a [Stmt] {
        self.tail.map_or(&[], |tail| tail.statements)
    }

    /// The stretch, and the statements that lead to it, each with its function.
    fn spans(&self) -> Option<Vec<(FunctionId, Span)>> {
        let calls = self.way.iter().map(|(caller, call)| {
            let (statement, _) = call_in(self.kernel.shader, *caller, *call)?;
            Some((*caller, statement.span))
        });
        std::iter::once(Some((self.function, self.span())))
            .chain(calls)
            .collect()
    }

    /// The effects of the stretch from one of its statements on.
    fn effects_from(&self, from: usize) -> Effects {
        let mut effects = EffectsCache::default();
        let mut all = effects.of_statements(
            self.kernel.shader,
            self.statements.get(from..).unwrap_or_default(),
        );
        if let Some(Tail {
            condition,
            statements,
        }) = self.tail
        {
            all.add(&effects.of_expression(self.kernel.shader, condition));
            all.add(&effects.of_statements(self.kernel.shader, statements));
        }
        all
    }

    fn with_effects(self) -> Self {
        let body = self.function().and_then(|function| function.body.as_deref());
        let body = body.unwrap_or_default();
        Side {
            effects: self.effects_from(0),
            afterwards: EffectsCache::default().of_statements_after(self.kernel.shader, body, self.span()),
            ..self
        }
    }

    /// The variables that the stretch declares, from one of its statements on, and whose scope extends beyond its
    /// statements.
    fn declared(&self, from: usize) -> Vec<LocalId> {
        let differing = self.statements.get(from..).unwrap_or_default();
        let of_block = differing.iter().chain(self.in_tail());
        // Before HLSL 2021 also those in the head of a loop, even one nested in another statement.
        let all = statements(differing).chain(statements(self.in_tail()));
        let inits = all.flat_map(|statement| match &statement.kind {
            StmtKind::Loop(l) => &l.init[..],
            _ => &[],
        });
        let declared = of_block
            .chain(inits)
            .filter_map(|statement| match statement.kind {
                StmtKind::Declare { local, .. } => Some(local),
                _ => None,
            });
        declared.collect()
    }

    /// Whether the differing code only works with values of this group: it does not touch device memory, orders it by
    /// barriers alone, and declares only variables.
    fn is_plain(&self, from: usize) -> bool {
        let all = self.effects_from(from);
        let own = self.statements.get(from..).unwrap_or_default();
        let called = all.functions.iter().filter_map(|id| {
            let function = self.kernel.shader.functions.get(id.0 as usize)?;
            function.body.as_deref()
        });
        let mut parts = [own, self.in_tail()]
            .into_iter()
            .chain(called)
            .flat_map(expressions);
        let has_fence = parts.any(|expr| match expr.kind {
            ExprKind::Intrinsic(intrinsic, _) => intrinsic.is_memory_barrier(),
            _ => false,
        });
        let touches_device =
            has_fence || all.device_observed || all.handle_written || !all.device_written.is_empty();
        let words = words(self.differs.slice(&self.kernel.shader.text));
        !touches_device && !DECLARING.iter().any(|word| words.contains(word))
    }
}

impl<'a> Pair<'a> {
    pub fn of(first: Kernel<'a>, second: Kernel<'a>) -> Option<Self> {
        let kernels = [first, second];
        let shaders = kernels.map(|kernel| kernel.shader);
        let OneText { functions, differs } = are_one_text(first.shader, second.shader)?;
        let is_one_entry = functions.contains(&[first.entry, second.entry]);
        if !is_one_entry || first.function()?.is_called_elsewhere || has_results(first) {
            return None;
        }
        let [was, is] = [0, 1].map(|side| shaders[side].functions.get(differs[side].0 as usize));
        let (was, is) = (was?, is?);
        let bodies = [was.body.as_deref()?, is.body.as_deref()?];
        let Difference {
            blocks,
            ranges,
            around: outer,
        } = difference(shaders, bodies)?;
        // The text around the differing statements is equal.
        let around = |side: usize| {
            let differs = span_of(&blocks[side][ranges[side].clone()]);
            outside([was, is][side].span, differs).map(|span| span.slice(&shaders[side].text))
        };
        let mut both = around(0).into_iter().zip(around(1));
        if !both.all(|(was, is)| are_alike(was, is)) {
            return None;
        }
        let (way, is_called_in_loop) = way_to(first, differs[0])?;
        let (other_way, _) = way_to(second, differs[1])?;
        let is_one_way = way.len() == other_way.len()
            && way
                .iter()
                .zip(&other_way)
                .all(|((was, call), (is, other))| call == other && functions.contains(&[*was, *is]));
        if !is_one_way {
            return None;
        }
        let is_loop = |statement: &&Stmt| matches!(statement.kind, StmtKind::Loop(_));
        let repeats = outer.iter().any(is_loop) || is_called_in_loop;
        let is_outermost = way.is_empty() && std::ptr::eq(blocks[0], bodies[0]);
        let written_from = |from: usize| {
            let written = [0, 1].map(|side| written(shaders[side], &blocks[side][from..ranges[side].end]));
            &written[0] | &written[1]
        };
        let start = ranges[0].start;
        let begins = behind_barrier(first.shader, blocks[0], start, repeats, &written_from);
        let begins = begins.or(is_outermost.then_some(0))?;
        let begins = past_long(first.shader, blocks[0], begins..start);
        // A store before the differing statements may pass on values that differ.
        let own = if repeats {
            written_from(begins)
        } else {
            BTreeSet::new()
        };
        let differing = [0, 1].map(|side| &blocks[side][ranges[side].clone()]);
        let tails = tails(shaders, differing);
        let ways = [way, other_way];
        let sides = [0, 1].map(|side| {
            let tail = tails.as_ref().map(|(tails, _)| tails[side]);
            let (way, range) = (ways[side].clone(), ranges[side].clone());
            Side::new(
                kernels[side],
                differs[side],
                way,
                blocks[side],
                begins,
                range,
                tail,
            )
        });
        let assumes_convergence =
            may_part(first.shader, was, &outer, &blocks[0][begins..]) || is_led_there(first.shader, &ways[0]);
        let pair = Pair {
            sides,
            leading: start - begins,
            repeats,
            own,
            is_mutual: false,
            assumes_convergence,
            before: 0,
            common: Vec::new(),
        };
        pair.with_variables([was, is], tails.and_then(|(_, declared)| declared))
    }

    /// Finds the variables that both kernels have. `None` if code after the stretch names a variable that only one of
    /// them has, or is not understood.
    fn with_variables(
        mut self,
        functions: [&Function; 2],
        declared_last: Option<[LocalId; 2]>,
    ) -> Option<Self> {
        let begins = self.sides[0].span().start;
        let [was, is] = functions;
        let before = |place: u32| was.locals.iter().filter(|local| local.span.start < place).count();
        self.before = before(begins);
        let numbers = 0..before(self.sides[0].differs.start) as u32;
        self.common = numbers
            .map(|number| [LocalId(number); 2])
            .chain(declared_last)
            .collect();
        let describe = |side: usize, local: LocalId| {
            let local = functions[side].locals.get(local.0 as usize)?;
            Some((&local.name, spelled(self.sides[side].kernel.shader, &local.ty)))
        };
        let is_same = |[a, b]: &[LocalId; 2]| {
            let described = [describe(0, *a), describe(1, *b)];
            described[0].is_some() && described[0] == described[1]
        };
        let are_same = self.common.iter().all(is_same) && was.parameters.len() == is.parameters.len();
        let mut has_macro_before = false;
        let is_known = self.sides.iter().all(|side| {
            let Some(spans) = side.spans() else {
                return false;
            };
            let around = Surroundings {
                kernel: side.kernel,
                spans: &spans,
                repeats: self.repeats,
                arrays: &(&side.effects.shared_read | &side.effects.shared_written),
                called: &side.effects.functions,
            };
            has_macro_before |= around.has_macro_before();
            around.is_understood() && is_of_values(side) && side.is_plain(self.leading)
        });
        self.assumes_convergence |= has_macro_before;
        let names_own = |side: usize| {
            let of = &self.sides[side];
            let locals = &functions[side].locals;
            let is_own = |id: &LocalId| {
                let local = locals.get(id.0 as usize).map(|local| local.span);
                let is_common = self.common.iter().any(|pair| pair[side] == *id);
                !is_common
                    && local
                        .is_none_or(|local| of.differs.start <= local.start && local.end <= of.differs.end)
            };
            let mut named = of.afterwards.read.iter().chain(&of.afterwards.written);
            // A name occurs in more than reads: `sizeof(x)`.
            let behind = Span {
                start: of.span().end,
                end: functions[side].span.end,
            };
            let words = words(behind.slice(&of.kernel.shader.text));
            let mut declared = of.declared(self.leading).into_iter().filter(is_own);
            let is_named = |id: LocalId| {
                let local = locals.get(id.0 as usize);
                local.is_none_or(|local| words.contains(local.name.as_bytes()))
            };
            named.any(is_own) || declared.any(is_named)
        };
        (are_same && is_known && !names_own(0) && !names_own(1)).then_some(self)
    }

    /// The cells of an array that may be read by the code after the stretch: in its function, in the functions that
    /// lead to it, and in the functions that these call then. `None` if it may be any cell. In the function of the
    /// stretch, `elements` may know the elements.
    pub fn read_afterwards(
        &self,
        side: &Side<'a>,
        name: &str,
        elements: &mut ElementsOf<'a, '_>,
    ) -> Option<BTreeSet<u32>> {
        let mut cells = BTreeSet::new();
        let mut note = |read: Option<(u32, u32)>| match read {
            Some((first, width)) => {
                cells.extend(first..first.saturating_add(width));
                false
            }
            None => true,
        };
        (!self.reads_any(side, name, &mut note, elements)).then_some(cells)
    }

    /// Calls `note` with the first cell and the number of cells of each element that may be read; stops when `note`
    /// returns `true`.
    fn reads_any(
        &self,
        side: &Side<'a>,
        name: &str,
        note: &mut dyn FnMut(Option<(u32, u32)>) -> bool,
        elements: &mut ElementsOf<'a, '_>,
    ) -> bool {
        let shader = side.kernel.shader;
        let globals = (0u32..).map(GlobalId).zip(&shader.globals);
        let Some((array, global)) = globals.into_iter().find(|(_, global)| global.name == name) else {
            return true;
        };
        let width = match &global.ty {
            Type::Array(element, _) => u32::try_from(shader.components(element)).ok(),
            _ => None,
        };
        let mut matters = |element: Option<u32>| {
            let cells = element.zip(width);
            note(cells.and_then(|(element, width)| Some((element.checked_mul(width)?, width))))
        };
        let Some(spans) = side.spans() else {
            return true;
        };
        let body_of = |function: FunctionId| shader.functions.get(function.0 as usize)?.body.as_deref();
        let mut effects = EffectsCache::default();
        let mut called = BTreeSet::new();
        for (function, span) in &spans {
            let body = body_of(*function).unwrap_or_default();
            let afterwards = if self.repeats {
                effects.of_statements_outside(shader, body, *span)
            } else {
                effects.of_statements_after(shader, body, *span)
            };
            called.extend(afterwards.functions);
        }
        // Functions that are called run as a whole.
        let called = called
            .into_iter()
            .map(|function| (function, Span::default(), false));
        let around = spans
            .into_iter()
            .map(|(function, span)| (function, span, !self.repeats));
        around.chain(called).any(|(function, span, is_within)| {
            let is_own = function == side.function && span != Span::default();
            let mut none = |_: &[&'a Expr], _: &'a Expr| None;
            let mut reads = Afterwards {
                shader,
                span,
                array,
                matters: &mut matters,
                elements: if is_own { &mut *elements } else { &mut none },
                effects: &mut effects,
            };
            body_of(function).is_none_or(|body| reads.reads(body, is_within))
        })
    }
}

/// The statement of a block from which two kernels run that differ from `start` on: the one after the last barrier
/// before `start`. If the block runs again, it is the first statement that stores to the arrays written from there
/// on, since the contents of these arrays before it may differ then. `None` if there is no barrier before.
fn behind_barrier(
    shader: &Shader,
    block: &[Stmt],
    start: usize,
    repeats: bool,
    written_from: &dyn Fn(usize) -> BTreeSet<String>,
) -> Option<usize> {
    let last = block[..start].iter().rposition(is_barrier)?;
    if !repeats {
        return Some(last + 1);
    }
    let arrays = written_from(last + 1);
    let before = block[..last].iter().rposition(is_barrier);
    let before = before.map_or(0, |at| at + 1);
    let stores = |statement: &Stmt| !written(shader, std::slice::from_ref(statement)).is_disjoint(&arrays);
    let first_store = block[before..last].iter().position(stores);
    Some(first_store.map_or(last + 1, |at| before + at))
}

/// The statement after the last long one among the statements before the differing ones. A run may begin there: the
/// statements that it leaves out only assign variables, and it takes the variables as arbitrary.
fn past_long(shader: &Shader, block: &[Stmt], leading: Range<usize>) -> usize {
    let mut effects = EffectsCache::default();
    let mut begins = leading.start;
    for at in leading {
        let of = effects.of_statements(shader, &block[at..=at]);
        if !of.is_of_own_variables() || of.leaves || of.jumps || !of.rebound.is_empty() {
            break;
        }
        if of.repeats {
            begins = at + 1;
        }
    }
    begins
}

/// The names of the groupshared arrays that statements may write.
fn written(shader: &Shader, statements: &[Stmt]) -> BTreeSet<String> {
    let globals = EffectsCache::default()
        .of_statements(shader, statements)
        .shared_written;
    globals.iter().filter_map(|id| name_of(shader, *id)).collect()
}

/// Whether all variables that the statements name are values of known types, except resources that they only use: the
/// value of a variable of another type is not seen.
fn is_of_values(side: &Side<'_>) -> bool {
    let shader = side.kernel.shader;
    let Some(function) = side.function() else {
        return false;
    };
    let effects = &side.effects;
    let local = |id: &LocalId| function.locals.get(id.0 as usize).map(|local| &local.ty);
    let global = |id: &GlobalId| shader.globals.get(id.0 as usize).map(|global| &global.ty);
    let is_known = |ty: Option<&Type>| ty.is_some_and(|ty| shader.is_known(ty));
    let is_value = |ty: Option<&Type>| {
        ty.is_some_and(|ty| {
            shader.is_known(ty) && !shader.holds_resource(ty) && shader.components(ty) <= MAX_COMPONENTS
        })
    };
    let mut written = effects.written.iter().map(local);
    let mut globals = effects
        .shared_read
        .iter()
        .chain(&effects.shared_written)
        .chain(&effects.statics)
        .map(global);
    effects.read.iter().map(local).all(is_known)
        && written.all(is_value)
        && globals.all(is_value)
        && effects.rebound.is_empty()
        && !effects.handle_written
}

pub(crate) fn name_of(shader: &Shader, global: GlobalId) -> Option<String> {
    shader
        .globals
        .get(global.0 as usize)
        .map(|global| global.name.clone())
}
