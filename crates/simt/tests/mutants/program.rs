//! A kernel as instructions for one thread: every operation of the typed tree on words in slots.
//!
//! Written from the language's rules alone and without a look at the engine, whose judge it is.

use std::collections::BTreeMap;

use shaderlint_hlsl::{
    BinaryOp, Direction, Expr, ExprKind, FunctionId, GlobalId, Intrinsic, LocalId, Loop, Scalar, Shader,
    Span, Stmt, StmtKind, Storage, Type, UnaryOp,
};

#[path = "places.rs"]
mod places;

pub type Slot = u32;

#[derive(Clone, Debug)]
pub enum Op {
    Const(Slot, u32),
    /// Any value at all.
    Garbage(Slot),
    Move(Slot, Slot),
    Unary(UnaryOp, Scalar, Slot, Slot),
    Binary(BinaryOp, Scalar, Slot, Slot, Slot),
    Cast(Scalar, Scalar, Slot, Slot),
    Intrinsic(Intrinsic, Scalar, Slot, Vec<Slot>),
    Jump(u32),
    JumpUnless(Slot, u32),
    /// `to = base + index * stride`, or outside.
    Index {
        to: Slot,
        base: Option<Slot>,
        index: Slot,
        stride: u32,
        length: u32,
    },
    /// A component of a place.
    Load(Slot, Cell),
    Store(Cell, Slot),
    /// The operation, the cell, its operands, and where the old value goes.
    Atomic(Intrinsic, Cell, Vec<Slot>, Slot),
    /// By its name: whose accesses it orders.
    Barrier(Intrinsic),
    /// The thread's lane, and how many lanes waves have.
    LaneIndex(Slot),
    LaneCount(Slot),
    /// The second slot's word of the lane that the third one says.
    ReadLane(Slot, Slot, Slot),
    Call(FunctionId),
    Return,
    /// A statement's start or end: its number in [`Program::marks`].
    Mark(u32),
}

/// One word in memory.
#[derive(Clone, Debug)]
pub struct Cell {
    pub memory: Memory,
    /// Words from the start of the memory, beside `component`.
    pub at: Option<Slot>,
    pub component: u32,
}

#[derive(Clone, Debug)]
pub enum Memory {
    /// The thread's own: first slot and number of slots.
    Slots(Slot, u32),
    /// Position in [`Program::shared`].
    Shared(usize),
    Device {
        resource: GlobalId,
        index: Vec<Slot>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark {
    pub function: FunctionId,
    /// Where the statement starts, or where it ends.
    pub at: u32,
    pub is_end: bool,
}

pub struct Program {
    pub group: [u32; 3],
    pub code: Vec<Op>,
    pub entries: BTreeMap<FunctionId, u32>,
    pub marks: Vec<Mark>,
    /// Groupshared variables, with their words.
    pub shared: Vec<(GlobalId, usize)>,
    pub slots: Slot,
    /// Slots of the entry's parameters with the semantic's component.
    pub system_values: Vec<(Slot, String, u32)>,
    pub locals: BTreeMap<(FunctionId, LocalId), (Slot, u32)>,
    /// Where the words of expressions that combine values are, by start and end.
    pub values: BTreeMap<(u32, u32), Vec<Slot>>,
    /// The element type's scalar and name of each resource and uniform.
    pub resources: BTreeMap<GlobalId, (Scalar, String)>,
}

type Result<T> = std::result::Result<T, String>;

/// A place that may be read or written: what an expression names.
struct Place {
    memory: Option<Memory>,
    /// Where it is no place but a value.
    value: Vec<Slot>,
    at: Option<Slot>,
    components: Vec<u32>,
}

struct Compiler<'s> {
    shader: &'s Shader,
    program: Program,
    function: FunctionId,
    statics: BTreeMap<GlobalId, (Slot, u32)>,
    results: BTreeMap<FunctionId, Vec<Slot>>,
    waiting: Vec<FunctionId>,
    /// Jumps of `break` and `continue` still without a target, by loop or switch around.
    jumps: Vec<(Vec<usize>, Vec<usize>)>,
}

/// Compiles the shader's entry point; says what of it is not known here.
pub fn compile(shader: &Shader, entry: FunctionId) -> Result<Program> {
    let function = &shader.functions[entry.0 as usize];
    let mut compiler = Compiler {
        shader,
        program: Program {
            group: function.group_size.ok_or("no entry point")?,
            code: Vec::new(),
            entries: BTreeMap::new(),
            marks: Vec::new(),
            shared: Vec::new(),
            slots: 0,
            system_values: Vec::new(),
            locals: BTreeMap::new(),
            values: BTreeMap::new(),
            resources: BTreeMap::new(),
        },
        function: entry,
        statics: BTreeMap::new(),
        results: BTreeMap::new(),
        waiting: vec![entry],
        jumps: Vec::new(),
    };
    for (id, global) in (0u32..).zip(&shader.globals) {
        let words = shader.components(&global.ty);
        match global.storage {
            Storage::Groupshared => compiler.program.shared.push((GlobalId(id), words)),
            Storage::Static => return Err("a static variable".into()),
            _ => {}
        }
    }
    while let Some(function) = compiler.waiting.pop() {
        if !compiler.program.entries.contains_key(&function) {
            compiler.function(function, function == entry)?;
        }
    }
    Ok(compiler.program)
}

impl Compiler<'_> {
    fn fresh(&mut self) -> Slot {
        self.program.slots += 1;
        self.program.slots - 1
    }

    fn emit(&mut self, op: Op) -> usize {
        self.program.code.push(op);
        self.program.code.len() - 1
    }

    fn here(&self) -> u32 {
        self.program.code.len() as u32
    }

    fn land(&mut self, jump: usize) {
        let here = self.here();
        match &mut self.program.code[jump] {
            Op::Jump(to) | Op::JumpUnless(_, to) => *to = here,
            other => panic!("{other:?} is no jump"),
        }
    }

    fn scalar(ty: &Type) -> Result<Scalar> {
        let is_known = |scalar: &Scalar| scalar.is_word() || *scalar == Scalar::Half;
        ty.scalar()
            .filter(is_known)
            .ok_or_else(|| format!("a value of type {ty:?}"))
    }

    fn function(&mut self, id: FunctionId, is_entry: bool) -> Result<()> {
        self.function = id;
        let function = &self.shader.functions[id.0 as usize];
        let entry = self.here();
        self.program.entries.insert(id, entry);
        for index in 0..function.locals.len() as u32 {
            self.local(LocalId(index));
        }
        if is_entry {
            for parameter in &function.parameters {
                let (first, count) = self.local(parameter.local);
                let semantic = parameter.semantic.clone().ok_or("a parameter without semantic")?;
                for component in 0..count {
                    let value = (first + component, semantic.to_ascii_lowercase(), component);
                    self.program.system_values.push(value);
                }
            }
        }
        let body = function.body.as_ref().ok_or("a function without a body")?;
        self.block(body)?;
        self.emit(Op::Return);
        Ok(())
    }

    fn local(&mut self, id: LocalId) -> (Slot, u32) {
        let key = (self.function, id);
        if let Some(known) = self.program.locals.get(&key) {
            return *known;
        }
        let local = &self.shader.functions[self.function.0 as usize].locals[id.0 as usize];
        let place = (self.program.slots, self.shader.components(&local.ty) as u32);
        self.program.slots += place.1;
        self.program.locals.insert(key, place);
        place
    }

    fn block(&mut self, statements: &[Stmt]) -> Result<()> {
        statements
            .iter()
            .try_for_each(|statement| self.statement(statement))
    }

    fn mark(&mut self, span: Span, is_end: bool) {
        let at = if is_end { span.end } else { span.start };
        let function = self.function;
        self.program.marks.push(Mark { function, at, is_end });
        let number = self.program.marks.len() as u32 - 1;
        self.emit(Op::Mark(number));
    }

    fn statement(&mut self, statement: &Stmt) -> Result<()> {
        self.mark(statement.span, false);
        match &statement.kind {
            StmtKind::Declare { local, init } => {
                let (first, count) = self.local(*local);
                match init {
                    Some(init) => {
                        let value = self.eval(init)?;
                        for (slot, value) in (first..).zip(value) {
                            self.emit(Op::Move(slot, value));
                        }
                    }
                    None => (first..first + count).for_each(|slot| {
                        self.emit(Op::Garbage(slot));
                    }),
                }
            }
            StmtKind::Expr(expr) => {
                self.eval(expr)?;
            }
            StmtKind::Block(body) => self.block(body)?,
            StmtKind::If {
                condition,
                then,
                otherwise,
            } => {
                let condition = self.eval_one(condition)?;
                let skip = self.emit(Op::JumpUnless(condition, 0));
                self.statement(then)?;
                let done = self.emit(Op::Jump(0));
                self.land(skip);
                if let Some(otherwise) = otherwise {
                    self.statement(otherwise)?;
                }
                self.land(done);
            }
            StmtKind::Loop(l) => self.follow_loop(l)?,
            StmtKind::Switch { .. } => return Err("a switch".into()),
            StmtKind::Return(value) => {
                if let Some(value) = value {
                    let value = self.eval(value)?;
                    let result = self.result(self.function);
                    for (slot, value) in result.into_iter().zip(value) {
                        self.emit(Op::Move(slot, value));
                    }
                }
                self.emit(Op::Return);
            }
            StmtKind::Break | StmtKind::Continue => {
                let jump = self.emit(Op::Jump(0));
                let (breaks, continues) = self.jumps.last_mut().ok_or("a jump out of nothing")?;
                match statement.kind {
                    StmtKind::Break => breaks.push(jump),
                    _ => continues.push(jump),
                }
            }
            StmtKind::Discard => return Err("discard".into()),
            StmtKind::Opaque => return Err("an unsupported statement".into()),
        }
        self.mark(statement.span, true);
        Ok(())
    }

    fn follow_loop(&mut self, l: &Loop) -> Result<()> {
        self.block(&l.init)?;
        self.jumps.push((Vec::new(), Vec::new()));
        let start = self.here();
        let mut ends = Vec::new();
        let mut test = |compiler: &mut Self| -> Result<()> {
            if let Some(condition) = &l.condition {
                let condition = compiler.eval_one(condition)?;
                ends.push(compiler.emit(Op::JumpUnless(condition, 0)));
            }
            Ok(())
        };
        if l.tests_first {
            test(self)?;
        }
        self.statement(&l.body)?;
        let (_, continues) = self.jumps.last_mut().ok_or("no loop")?;
        for jump in std::mem::take(continues) {
            self.land(jump);
        }
        if let Some(step) = &l.step {
            self.eval(step)?;
        }
        if !l.tests_first {
            test(self)?;
        }
        self.emit(Op::Jump(start));
        let (breaks, _) = self.jumps.pop().ok_or("no loop")?;
        for jump in breaks.into_iter().chain(ends) {
            self.land(jump);
        }
        Ok(())
    }

    fn result(&mut self, function: FunctionId) -> Vec<Slot> {
        let ty = &self.shader.functions[function.0 as usize].returns;
        let count = self.shader.components(ty);
        if !self.results.contains_key(&function) {
            let slots = (0..count).map(|_| self.fresh()).collect();
            self.results.insert(function, slots);
        }
        self.results[&function].clone()
    }

    fn eval_one(&mut self, expr: &Expr) -> Result<Slot> {
        let value = self.eval(expr)?;
        value.first().copied().ok_or_else(|| "a value of no type".into())
    }

    fn eval(&mut self, expr: &Expr) -> Result<Vec<Slot>> {
        let value = self.value_of(expr)?;
        if matches!(expr.kind, ExprKind::Binary(..) | ExprKind::Intrinsic(..)) {
            let place = (expr.span.start, expr.span.end);
            self.program.values.insert(place, value.clone());
        }
        Ok(value)
    }

    fn value_of(&mut self, expr: &Expr) -> Result<Vec<Slot>> {
        match &expr.kind {
            ExprKind::Literal(word) => {
                Self::scalar(&expr.ty)?;
                let count = self.shader.components(&expr.ty).max(1);
                let slot = self.fresh();
                self.emit(Op::Const(slot, *word));
                Ok(vec![slot; count])
            }
            ExprKind::Local(_)
            | ExprKind::Global(_)
            | ExprKind::Index(..)
            | ExprKind::Field(..)
            | ExprKind::Swizzle(..) => {
                let place = self.place(expr)?;
                self.load(&place, &expr.ty)
            }
            ExprKind::Unary(op, a) => {
                let scalar = Self::scalar(&a.ty)?;
                let a = self.eval(a)?;
                Ok(self.each(&a, |to, from| Op::Unary(*op, scalar, to, from)))
            }
            ExprKind::Binary(op @ (BinaryOp::LogicalAnd | BinaryOp::LogicalOr), a, b)
                if self.shader.components(&a.ty) == 1 =>
            {
                let result = self.fresh();
                let left = self.eval_one(a)?;
                self.emit(Op::Move(result, left));
                let test = self.fresh();
                self.emit(match op {
                    BinaryOp::LogicalAnd => Op::Move(test, left),
                    _ => Op::Unary(UnaryOp::Not, Scalar::Bool, test, left),
                });
                let skip = self.emit(Op::JumpUnless(test, 0));
                let right = self.eval_one(b)?;
                self.emit(Op::Move(result, right));
                self.land(skip);
                Ok(vec![result])
            }
            ExprKind::Binary(op, a, b) => {
                let scalar = Self::scalar(&a.ty)?;
                let (a, b) = (self.eval(a)?, self.eval(b)?);
                self.binary(*op, scalar, &a, &b)
            }
            ExprKind::Ternary(condition, a, b) => {
                if self.shader.components(&condition.ty) != 1 {
                    return Err("a choice by component".into());
                }
                let condition = self.eval_one(condition)?;
                let count = self.shader.components(&expr.ty);
                let result: Vec<Slot> = (0..count).map(|_| self.fresh()).collect();
                let skip = self.emit(Op::JumpUnless(condition, 0));
                let mut done = 0;
                for (number, arm) in [a, b].into_iter().enumerate() {
                    let value = self.eval(arm)?;
                    for (to, from) in result.iter().zip(value) {
                        self.emit(Op::Move(*to, from));
                    }
                    if number == 0 {
                        done = self.emit(Op::Jump(0));
                        self.land(skip);
                    }
                }
                self.land(done);
                Ok(result)
            }
            ExprKind::Assign { target, op, value } => {
                let place = self.place(target)?;
                let mut new = self.eval(value)?;
                if let Some(op) = op {
                    let old = self.load(&place, &target.ty)?;
                    let old = self.cast(&old, &target.ty, &value.ty)?;
                    new = self.binary(*op, Self::scalar(&value.ty)?, &old, &new)?;
                    new = self.cast(&new, &value.ty, &target.ty)?;
                }
                self.store(&place, &new)?;
                Ok(new)
            }
            ExprKind::Step {
                target,
                increment,
                prefix,
            } => {
                let place = self.place(target)?;
                let old = self.load(&place, &target.ty)?;
                let scalar = Self::scalar(&target.ty)?;
                let one = self.fresh();
                let is_float = scalar.is_float();
                self.emit(Op::Const(one, if is_float { 1f32.to_bits() } else { 1 }));
                let op = if *increment { BinaryOp::Add } else { BinaryOp::Sub };
                let new = self.binary(op, scalar, &old, &vec![one; old.len()])?;
                self.store(&place, &new)?;
                Ok(if *prefix { new } else { old })
            }
            ExprKind::Cast(a) => {
                let value = self.eval(a)?;
                self.cast(&value, &a.ty, &expr.ty)
            }
            ExprKind::Construct(arguments) => {
                let mut value = Vec::new();
                for argument in arguments {
                    value.extend(self.eval(argument)?);
                }
                Ok(value)
            }
            ExprKind::Call(function, arguments) => self.call(*function, arguments),
            ExprKind::Intrinsic(intrinsic, arguments) => self.intrinsic(*intrinsic, arguments, expr),
            ExprKind::Method { .. } => Err("a method".into()),
            ExprKind::Comma(a, b) => {
                self.eval(a)?;
                self.eval(b)
            }
            ExprKind::Opaque(_) => Err("an expression that is not understood".into()),
        }
    }

    fn each(&mut self, values: &[Slot], op: impl Fn(Slot, Slot) -> Op) -> Vec<Slot> {
        let mut results = Vec::new();
        for value in values {
            let to = self.fresh();
            self.emit(op(to, *value));
            results.push(to);
        }
        results
    }

    fn binary(&mut self, op: BinaryOp, scalar: Scalar, a: &[Slot], b: &[Slot]) -> Result<Vec<Slot>> {
        use BinaryOp as B;
        if scalar.is_float() && matches!(op, B::And | B::Or | B::Xor | B::Shl | B::Shr) {
            return Err("bits of floats".into());
        }
        let pairs = a.iter().zip(b);
        Ok(pairs
            .map(|(a, b)| {
                let to = self.fresh();
                self.emit(Op::Binary(op, scalar, to, *a, *b));
                to
            })
            .collect())
    }

    fn cast(&mut self, value: &[Slot], from: &Type, to: &Type) -> Result<Vec<Slot>> {
        if from == to {
            return Ok(value.to_vec());
        }
        let (source, target) = (Self::scalar(from)?, Self::scalar(to)?);
        let count = self.shader.components(to);
        let value = self.each(value, |to, from| Op::Cast(source, target, to, from));
        let fill = *value.first().ok_or("a value of no type")?;
        Ok((0..count)
            .map(|index| *value.get(index).unwrap_or(&fill))
            .collect())
    }

    fn call(&mut self, id: FunctionId, arguments: &[Expr]) -> Result<Vec<Slot>> {
        let callee = &self.shader.functions[id.0 as usize];
        let caller = self.function;
        let mut outs = Vec::new();
        for (parameter, argument) in callee.parameters.iter().zip(arguments) {
            let place = self.place(argument)?;
            if matches!(argument.ty, Type::Resource(..) | Type::Array(..)) {
                return Err("an argument that is no value".into());
            }
            let ty = &callee.locals[parameter.local.0 as usize].ty;
            self.function = id;
            let (first, count) = self.local(parameter.local);
            self.function = caller;
            if parameter.direction != Direction::Out {
                let value = self.load(&place, &argument.ty)?;
                let value = self.cast(&value, &argument.ty, ty)?;
                for (to, from) in (first..).zip(value) {
                    self.emit(Op::Move(to, from));
                }
            }
            if parameter.direction != Direction::In {
                outs.push((place, first, count, ty, argument));
            }
        }
        self.waiting.push(id);
        self.emit(Op::Call(id));
        for (place, first, count, ty, argument) in outs {
            let value: Vec<Slot> = (first..first + count).collect();
            let value = self.cast(&value, ty, &argument.ty)?;
            self.store(&place, &value)?;
        }
        let result = self.result(id);
        Ok(self.each(&result, Op::Move))
    }

    fn intrinsic(&mut self, intrinsic: Intrinsic, arguments: &[Expr], expr: &Expr) -> Result<Vec<Slot>> {
        if intrinsic.is_group_barrier() {
            self.emit(Op::Barrier(intrinsic));
            return Ok(Vec::new());
        }
        if intrinsic.is_atomic() {
            let (target, operands) = arguments.split_first().ok_or("an atomic without a destination")?;
            let place = self.place(target)?;
            let count = if intrinsic.name().starts_with("InterlockedCompare") {
                2
            } else {
                1
            };
            let mut words = Vec::new();
            for operand in operands.iter().take(count) {
                words.push(self.eval_one(operand)?);
            }
            let old = self.fresh();
            let cell = Self::cells(&place)?.next().ok_or("an atomic on nothing")?;
            self.emit(Op::Atomic(intrinsic, cell, words, old));
            if let Some(out) = operands.get(count) {
                let place = self.place(out)?;
                self.store(&place, &[old])?;
            }
            return Ok(Vec::new());
        }
        if matches!(
            intrinsic,
            Intrinsic::AllMemoryBarrier | Intrinsic::DeviceMemoryBarrier | Intrinsic::GroupMemoryBarrier
        ) {
            return Ok(Vec::new());
        }
        match (intrinsic, arguments) {
            (Intrinsic::WaveGetLaneIndex, []) => {
                let to = self.fresh();
                self.emit(Op::LaneIndex(to));
                return Ok(vec![to]);
            }
            (Intrinsic::WaveGetLaneCount, []) => {
                let to = self.fresh();
                self.emit(Op::LaneCount(to));
                return Ok(vec![to]);
            }
            (Intrinsic::WaveReadLaneAt, [value, lane]) => {
                let (value, lane) = (self.eval(value)?, self.eval_one(lane)?);
                return Ok(self.each(&value, |to, from| Op::ReadLane(to, from, lane)));
            }
            _ => {}
        }
        let is_known = matches!(
            intrinsic,
            Intrinsic::Min
                | Intrinsic::Max
                | Intrinsic::Clamp
                | Intrinsic::Mad
                | Intrinsic::Abs
                | Intrinsic::CountBits
                | Intrinsic::FirstBitLow
                | Intrinsic::FirstBitHigh
                | Intrinsic::ReverseBits
                | Intrinsic::AsUint
                | Intrinsic::AsInt
                | Intrinsic::AsFloat
                | Intrinsic::Select
        );
        if !is_known {
            return Err(format!("{}()", intrinsic.name()));
        }
        let scalar = Self::scalar(&arguments.first().ok_or("no argument")?.ty)?;
        let values = arguments
            .iter()
            .map(|argument| self.eval(argument))
            .collect::<Result<Vec<_>>>()?;
        let count = self.shader.components(&expr.ty);
        Ok((0..count)
            .map(|component| {
                let to = self.fresh();
                let words = values.iter();
                let words = words.map(|value| *value.get(component).unwrap_or(&value[0]));
                let words = words.collect();
                self.emit(Op::Intrinsic(intrinsic, scalar, to, words));
                to
            })
            .collect())
    }
}
