//! The canonical form of statements, as a text: two statements with the same text have the same effect on the same
//! inputs.
//!
//! The text describes the tree and not the source, because declarations elsewhere decide what a name means: a
//! `typedef`, the value of an enum's member, the arguments of a template. In the tree types are resolved, conversions
//! explicit and constants folded. Variables have numbers in the order of their first use, so that their names make no
//! difference; the reader has to compare their values ([`Meaning::locals`], [`Meaning::globals`]). The text gives the
//! type of each variable with its number, and the type of everything else whose type does not follow from its parts.
//! The texts of the structs, functions and constants that are named come after that. The text contains the source of
//! what is not understood, and of declarations with an unknown type.

use std::fmt::Write as _;

use rustc_hash::FxHashMap;
use shaderlint_hlsl::{
    Direction, Expr, ExprKind, FunctionId, GlobalId, Local, LocalId, Shader, Stmt, StmtKind, Storage,
    StructId, Type,
};

use crate::facts::naming_heuristics::is_of_name;

/// A text, and the variables and globals that it names.
#[derive(Debug, Default)]
pub(crate) struct Meaning {
    pub text: String,
    /// The variables of the current function, by number.
    pub locals: Vec<LocalId>,
    /// Everything named that the shader declares outside functions, by number.
    pub globals: Vec<GlobalId>,
    /// The text does not determine everything that is named.
    pub is_partial: bool,
}

impl Meaning {
    pub fn of_statements(shader: &Shader, function: FunctionId, statements: &[Stmt]) -> Meaning {
        let mut writer = Writer::new(shader);
        writer.function = Some(function);
        writer.statements(statements);
        let locals = std::mem::take(&mut writer.locals).into_order();
        writer.finish();
        Meaning {
            is_partial: writer.is_partial,
            text: writer.text,
            locals,
            globals: writer.globals.into_order(),
        }
    }

    /// The text of some types alone.
    pub fn of_types<'t>(shader: &Shader, types: impl IntoIterator<Item = &'t Type>) -> String {
        let mut writer = Writer::new(shader);
        writer.types(types);
        writer.finish();
        writer.text
    }

    /// What has to be known of an expression that is not understood besides its own text and the values of its
    /// operands: the types of the operands, and the functions that the expression may call.
    pub fn of_opaque(shader: &Shader, expr: &Expr, operands: &[Expr]) -> String {
        let mut writer = Writer::new(shader);
        writer.types(operands.iter().map(|operand| &operand.ty));
        writer.overloads(expr);
        writer.finish();
        writer.text
    }
}

/// Whether an expression that is not understood gives arguments to a template: what the arguments stand for is not
/// known.
fn names_template(shader: &Shader, expr: &Expr) -> bool {
    let text = expr.span.slice(&shader.text);
    let mut ends = text.iter().enumerate().filter(|(_, byte)| **byte == b'>');
    text.contains(&b'<')
        && ends.any(|(at, _)| {
            text.get(at + 1..)
                .is_some_and(|rest| rest.trim_ascii_start().starts_with(b"("))
        })
}

/// Whether the text and the operands of an expression determine its meaning.
pub(crate) fn is_told(shader: &Shader, expr: &Expr) -> bool {
    !matches!(expr.kind, ExprKind::Opaque(_)) || !names_template(shader, expr)
}

/// Numbers things in the order in which they were first requested.
struct Numbering<T> {
    known: FxHashMap<T, usize>,
    order: Vec<T>,
}

impl<T> Default for Numbering<T> {
    fn default() -> Numbering<T> {
        Numbering {
            known: FxHashMap::default(),
            order: Vec::new(),
        }
    }
}

impl<T: Copy + Eq + std::hash::Hash> Numbering<T> {
    /// The number, and whether it is new.
    fn of(&mut self, it: T) -> (usize, bool) {
        let next = self.order.len();
        let number = *self.known.entry(it).or_insert(next);
        if number == next {
            self.order.push(it);
        }
        (number, number == next)
    }

    fn into_order(self) -> Vec<T> {
        self.order
    }
}

struct Writer<'s> {
    shader: &'s Shader,
    text: String,
    /// The function whose variables are meant.
    function: Option<FunctionId>,
    locals: Numbering<LocalId>,
    globals: Numbering<GlobalId>,
    functions: Numbering<FunctionId>,
    structs: Numbering<u32>,
    is_partial: bool,
}

impl<'s> Writer<'s> {
    fn new(shader: &'s Shader) -> Writer<'s> {
        Writer {
            shader,
            text: String::new(),
            function: None,
            locals: Numbering::default(),
            globals: Numbering::default(),
            functions: Numbering::default(),
            structs: Numbering::default(),
            is_partial: false,
        }
    }

    fn put(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Writes everything that is named, by number, until nothing new is named.
    fn finish(&mut self) {
        let (mut functions, mut constants, mut structs) = (0, 0, 0);
        loop {
            if let Some(function) = self.functions.order.get(functions).copied() {
                functions += 1;
                self.called(function);
            } else if let Some(global) = self.globals.order.get(constants).copied() {
                constants += 1;
                self.constant(global);
            } else if let Some(id) = self.structs.order.get(structs).copied() {
                structs += 1;
                self.members(id);
            } else {
                return;
            }
        }
    }

    fn called(&mut self, id: FunctionId) {
        let shader = self.shader;
        self.put("\nfn ");
        let Some(function) = shader.functions.get(id.0 as usize) else {
            return;
        };
        self.function = Some(id);
        self.locals = Numbering::default();
        self.ty(&function.returns);
        for parameter in &function.parameters {
            self.put(match parameter.direction {
                Direction::In => " in ",
                Direction::Out => " out ",
                Direction::InOut => " inout ",
            });
            self.local(parameter.local);
        }
        if function.locals.iter().any(|local| !shader.is_known(&local.ty)) {
            self.source(function.span);
        }
        match &function.body {
            Some(body) => self.statements(body),
            None => self.put(&function.name),
        }
    }

    fn constant(&mut self, id: GlobalId) {
        let declared = self.shader.globals.get(id.0 as usize);
        self.put("\nconst ");
        if let Some(global) = declared.filter(|global| global.storage == Storage::Const)
            && let Some(init) = &global.init
        {
            self.expr(init);
        }
    }

    fn members(&mut self, id: u32) {
        self.put("\nstruct ");
        let shader = self.shader;
        if let Some(declared) = shader.structs.get(id as usize) {
            if !declared.fields.iter().all(|field| shader.is_known(&field.ty)) {
                self.source(declared.span);
            }
            for field in &declared.fields {
                self.ty(&field.ty);
                self.put(",");
            }
        }
    }

    fn types<'t>(&mut self, types: impl IntoIterator<Item = &'t Type>) {
        for ty in types {
            self.ty(ty);
            self.put(",");
        }
    }

    /// Writes the functions that an expression may call, where it is not known which one it calls.
    fn overloads(&mut self, expr: &Expr) {
        let text = expr.span.slice(&self.shader.text);
        let end = text.iter().position(|byte| !is_of_name(*byte));
        let name = text.get(..end.unwrap_or_default()).unwrap_or_default();
        let functions = (0..).map(FunctionId).zip(&self.shader.functions);
        for (id, _) in functions.filter(|(_, function)| function.name.as_bytes() == name) {
            let (number, _) = self.functions.of(id);
            let _ = write!(self.text, "fn{number}");
        }
    }

    fn ty(&mut self, ty: &Type) {
        match ty {
            Type::Struct(StructId(id)) => {
                let (number, _) = self.structs.of(*id);
                let _ = write!(self.text, "struct{number}");
            }
            Type::Array(element, length) => {
                self.ty(element);
                let _ = write!(self.text, "[{length}]");
            }
            Type::Resource(kind, element) => {
                let _ = write!(self.text, "{kind:?}<");
                if let Some(element) = element {
                    self.ty(element);
                }
                self.put(">");
            }
            Type::Scalar(scalar) => self.put(scalar.name()),
            Type::Vector(scalar, count) => {
                let _ = write!(self.text, "{}{count}", scalar.name());
            }
            Type::Matrix(scalar, rows, columns) => {
                let _ = write!(self.text, "{}{rows}x{columns}", scalar.name());
            }
            Type::Void => self.put("void"),
            Type::Unknown => self.put("?"),
        }
    }

    fn declared(&self, local: LocalId) -> Option<&'s Local> {
        let function = self.shader.functions.get(self.function?.0 as usize)?;
        function.locals.get(local.0 as usize)
    }

    fn local(&mut self, local: LocalId) {
        let (number, is_new) = self.locals.of(local);
        let _ = write!(self.text, "${number}");
        if let Some(declared) = self.declared(local).filter(|_| is_new) {
            self.put(":");
            self.ty(&declared.ty);
        }
    }

    fn global(&mut self, id: GlobalId) {
        let (number, is_new) = self.globals.of(id);
        let _ = write!(self.text, "@{number}");
        let declared = self.shader.globals.get(id.0 as usize);
        if let Some(global) = declared.filter(|_| is_new) {
            let _ = write!(
                self.text,
                ":{} {:?} {} ",
                global.name, global.storage, global.coherent
            );
            self.ty(&global.ty);
            if !self.shader.is_known(&global.ty) {
                self.source(global.span);
            }
        }
    }

    fn statements(&mut self, body: &[Stmt]) {
        for statement in body {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Stmt) {
        match &statement.kind {
            StmtKind::Declare { local, init } => {
                self.put("let ");
                if self
                    .declared(*local)
                    .is_some_and(|local| !self.shader.is_known(&local.ty))
                {
                    self.source(statement.span);
                }
                self.local(*local);
                self.put("=");
                self.optional(init.as_ref());
            }
            StmtKind::Expr(expr) => self.expr(expr),
            StmtKind::Block(body) => {
                self.put("{");
                self.statements(body);
                self.put("}");
            }
            StmtKind::If {
                condition,
                then,
                otherwise,
            } => {
                self.put("if ");
                self.expr(condition);
                self.put("{");
                self.statement(then);
                self.put("}{");
                if let Some(otherwise) = otherwise {
                    self.statement(otherwise);
                }
                self.put("}");
            }
            StmtKind::Loop(l) => {
                self.put(if l.tests_first { "loop{" } else { "do{" });
                if let Some(limit) = l.limit {
                    self.put(&format!("at most {limit};"));
                }
                self.statements(&l.init);
                self.put("}");
                self.optional(l.condition.as_ref());
                self.put(";");
                self.optional(l.step.as_ref());
                self.put("{");
                self.statement(&l.body);
                self.put("}");
            }
            StmtKind::Switch { value, cases } => {
                self.put("switch ");
                self.expr(value);
                for case in cases {
                    self.put("case ");
                    self.optional(case.label.as_ref());
                    self.put("{");
                    self.statements(&case.body);
                    self.put("}");
                }
            }
            StmtKind::Return(value) => {
                self.put("return ");
                self.optional(value.as_ref());
            }
            StmtKind::Break => self.put("break"),
            StmtKind::Continue => self.put("continue"),
            StmtKind::Discard => self.put("discard"),
            StmtKind::Opaque => self.source(statement.span),
        }
        self.put(";");
    }

    fn source(&mut self, span: shaderlint_hlsl::Span) {
        let text = String::from_utf8_lossy(span.slice(&self.shader.text));
        let _ = write!(self.text, "{text:?}");
    }

    fn optional(&mut self, expr: Option<&Expr>) {
        match expr {
            Some(expr) => self.expr(expr),
            None => self.put("_"),
        }
    }

    /// Writes `head` with the type, where the type does not follow from the parts.
    fn typed(&mut self, head: &str, ty: &Type) {
        self.put(head);
        self.put(":");
        self.ty(ty);
    }

    fn expr(&mut self, expr: &Expr) {
        self.put("(");
        match &expr.kind {
            ExprKind::Literal(word) => {
                let _ = write!(self.text, "{word}");
                self.typed("", &expr.ty);
            }
            ExprKind::Local(local) => self.local(*local),
            ExprKind::Global(global) => self.global(*global),
            ExprKind::Unary(op, _) => {
                let _ = write!(self.text, "{op:?}");
            }
            ExprKind::Binary(op, ..) => {
                let _ = write!(self.text, "{op:?}");
            }
            ExprKind::Ternary(..) => self.put("?:"),
            ExprKind::Assign { op, .. } => {
                let _ = write!(self.text, "{op:?}=");
            }
            ExprKind::Step {
                increment, prefix, ..
            } => {
                let _ = write!(self.text, "step {increment} {prefix}");
            }
            ExprKind::Index(..) => self.put("at"),
            ExprKind::Field(_, field) => {
                let _ = write!(self.text, ".{field}");
            }
            ExprKind::Swizzle(_, picks) => {
                let _ = write!(self.text, ".{picks:?}");
            }
            ExprKind::Cast(_) => self.typed("as", &expr.ty),
            ExprKind::Construct(_) => self.typed("new", &expr.ty),
            ExprKind::Call(function, _) => {
                let (number, _) = self.functions.of(*function);
                let _ = write!(self.text, "fn{number}");
            }
            ExprKind::Intrinsic(intrinsic, _) => self.typed(intrinsic.name(), &expr.ty),
            ExprKind::Method { method, .. } => self.typed(method.name(), &expr.ty),
            ExprKind::Comma(..) => self.put(","),
            ExprKind::Opaque(_) => {
                self.source(expr.span);
                self.typed("", &expr.ty);
                self.overloads(expr);
                self.is_partial |= !is_told(self.shader, expr);
            }
        }
        for part in expr.children() {
            self.expr(part);
        }
        self.put(")");
    }
}
