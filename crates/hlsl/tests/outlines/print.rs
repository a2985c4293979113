//! The tree as text.

use std::fmt::Write;

use shaderlint_hlsl::{
    BinaryOp, Direction, Expr, ExprKind, Function, LocalId, Scalar, Shader, Stmt, StmtKind, Storage,
    StructId, Type, UnaryOp, type_name,
};

/// A shader's structs, globals and functions as S-expressions, with one line per declaration and per statement.
///
/// A literal is printed with its type's suffix, a conversion as `(as type value)`, an opaque node as `(? …)`.
pub fn outline(shader: &Shader) -> String {
    let mut printer = Printer {
        shader,
        function: None,
        out: String::new(),
    };
    printer.shader();
    printer.out
}

struct Printer<'a> {
    shader: &'a Shader,
    function: Option<&'a Function>,
    out: String,
}

impl<'a> Printer<'a> {
    fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn line(&mut self, depth: usize) {
        self.out.push('\n');
        for _ in 0..depth {
            self.out.push_str("  ");
        }
    }

    fn shader(&mut self) {
        let shader = self.shader;
        for found in &shader.structs {
            let _ = write!(self.out, "(struct {}", found.name);
            for field in &found.fields {
                let ty = type_name(self.shader, &field.ty);
                let _ = write!(self.out, " ({} {ty}", field.name);
                if let Some(semantic) = &field.semantic {
                    let _ = write!(self.out, " :{semantic}");
                }
                self.put(")");
            }
            self.put(")\n");
        }
        for global in &shader.globals {
            let storage = match global.storage {
                Storage::Groupshared => "groupshared",
                Storage::Const => "const",
                Storage::Static => "static",
                Storage::Uniform => "uniform",
                Storage::Resource => "resource",
                Storage::Unknown => "unknown",
            };
            let coherent = if global.coherent { " coherent" } else { "" };
            let ty = type_name(self.shader, &global.ty);
            let _ = write!(self.out, "({storage}{coherent} {} {ty}", global.name);
            if let Some(init) = &global.init {
                self.put(" ");
                self.expr(init);
            }
            self.put(")\n");
        }
        for function in &shader.functions {
            self.function(function);
        }
    }

    fn function(&mut self, function: &'a Function) {
        self.function = Some(function);
        let returns = type_name(self.shader, &function.returns);
        let _ = write!(self.out, "(fn {} {returns}", function.name);
        for parameter in &function.parameters {
            let (name, ty) = self.local(parameter.local);
            let direction = match parameter.direction {
                Direction::In => "",
                Direction::Out => "out ",
                Direction::InOut => "inout ",
            };
            let ty = type_name(self.shader, ty);
            let _ = write!(self.out, " ({direction}{name} {ty}");
            if let Some(semantic) = &parameter.semantic {
                let _ = write!(self.out, " :{semantic}");
            }
            if let Some(default) = &parameter.default {
                self.put(" = ");
                self.expr(default);
            }
            self.put(")");
        }
        if let Some([x, y, z]) = function.group_size {
            let _ = write!(self.out, " [{x} {y} {z}]");
        }
        if let Some((least, most)) = function.wave_size {
            let _ = write!(self.out, " [wave {least} {most}]");
        }
        match &function.body {
            Some(body) => self.statements(body, 1),
            None => self.put(" extern"),
        }
        self.put(")\n");
    }

    fn statements(&mut self, statements: &[Stmt], depth: usize) {
        for statement in statements {
            self.line(depth);
            self.statement(statement, depth);
        }
    }

    fn statement(&mut self, statement: &Stmt, depth: usize) {
        match &statement.kind {
            StmtKind::Declare { local, init } => {
                let (name, ty) = self.local(*local);
                let ty = type_name(self.shader, ty);
                let _ = write!(self.out, "(let {name} {ty}");
                if let Some(init) = init {
                    self.put(" ");
                    self.expr(init);
                }
                self.put(")");
            }
            StmtKind::Expr(expr) => self.expr(expr),
            StmtKind::Block(body) => {
                self.put("(block");
                self.statements(body, depth + 1);
                self.put(")");
            }
            StmtKind::If {
                condition,
                then,
                otherwise,
            } => {
                self.put("(if ");
                self.expr(condition);
                self.line(depth + 1);
                self.statement(then, depth + 1);
                if let Some(otherwise) = otherwise {
                    self.line(depth + 1);
                    self.statement(otherwise, depth + 1);
                }
                self.put(")");
            }
            StmtKind::Loop(found) => {
                self.put(if found.tests_first { "(loop (" } else { "(do (" });
                for (index, init) in found.init.iter().enumerate() {
                    if index > 0 {
                        self.put(" ");
                    }
                    self.statement(init, depth + 1);
                }
                self.put(") ");
                self.optional(found.condition.as_ref());
                self.put(" ");
                self.optional(found.step.as_ref());
                self.line(depth + 1);
                self.statement(&found.body, depth + 1);
                self.put(")");
            }
            StmtKind::Switch { value, cases } => {
                self.put("(switch ");
                self.expr(value);
                for case in cases {
                    self.line(depth + 1);
                    self.put("(case ");
                    self.optional(case.label.as_ref());
                    self.statements(&case.body, depth + 2);
                    self.put(")");
                }
                self.put(")");
            }
            StmtKind::Return(value) => {
                self.put("(return");
                if let Some(value) = value {
                    self.put(" ");
                    self.expr(value);
                }
                self.put(")");
            }
            StmtKind::Break => self.put("(break)"),
            StmtKind::Continue => self.put("(continue)"),
            StmtKind::Discard => self.put("(discard)"),
            StmtKind::Opaque => self.put("???"),
        }
    }

    fn optional(&mut self, expr: Option<&Expr>) {
        match expr {
            Some(expr) => self.expr(expr),
            None => self.put("_"),
        }
    }

    fn list(&mut self, head: &str, parts: &[Expr]) {
        self.put("(");
        self.put(head);
        for part in parts {
            self.put(" ");
            self.expr(part);
        }
        self.put(")");
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Literal(bits) => self.literal(*bits, &expr.ty),
            ExprKind::Local(id) => self.put(self.local(*id).0),
            ExprKind::Global(id) => {
                let global = self.shader.globals.get(id.0 as usize);
                self.put(global.map_or("?", |global| global.name.as_str()));
            }
            ExprKind::Unary(op, operand) => self.list(unary_operator(*op), std::slice::from_ref(operand)),
            ExprKind::Binary(op, a, b) => {
                let _ = write!(self.out, "({} ", operator(*op));
                self.pair(a, b);
            }
            ExprKind::Ternary(condition, a, b) => {
                self.put("(?: ");
                self.expr(condition);
                self.put(" ");
                self.pair(a, b);
            }
            ExprKind::Assign { target, op, value } => {
                let _ = write!(self.out, "({}= ", op.map_or("", operator));
                self.pair(target, value);
            }
            ExprKind::Step {
                target,
                increment,
                prefix,
            } => {
                let op = if *increment { "++" } else { "--" };
                let head = if *prefix {
                    format!("{op}x")
                } else {
                    format!("x{op}")
                };
                self.list(&head, std::slice::from_ref(target));
            }
            ExprKind::Index(object, index) => {
                self.put("(at ");
                self.pair(object, index);
            }
            ExprKind::Field(object, index) => {
                let name = self.field_name(&object.ty, *index);
                self.list(&format!(".{name}"), std::slice::from_ref(object));
            }
            ExprKind::Swizzle(object, components) => {
                let is_matrix = matches!(object.ty, Type::Matrix(..));
                self.list(&swizzle(components, is_matrix), std::slice::from_ref(object));
            }
            ExprKind::Cast(operand) => {
                let ty = type_name(self.shader, &expr.ty);
                self.list(&format!("as {ty}"), std::slice::from_ref(operand));
            }
            ExprKind::Construct(parts) => {
                let ty = type_name(self.shader, &expr.ty);
                self.list(&format!("new {ty}"), parts);
            }
            ExprKind::Call(id, arguments) => {
                let function = self.shader.functions.get(id.0 as usize);
                self.list(function.map_or("?", |function| function.name.as_str()), arguments);
            }
            ExprKind::Intrinsic(intrinsic, arguments) => self.list(intrinsic.name(), arguments),
            ExprKind::Method {
                object,
                method,
                arguments,
            } => {
                let _ = write!(self.out, "(.{} ", method.name());
                self.expr(object);
                for argument in arguments {
                    self.put(" ");
                    self.expr(argument);
                }
                self.put(")");
            }
            ExprKind::Comma(a, b) => {
                self.put("(, ");
                self.pair(a, b);
            }
            ExprKind::Opaque(operands) => {
                let ty = type_name(self.shader, &expr.ty);
                let head = if expr.ty == Type::Unknown {
                    "?".to_owned()
                } else {
                    format!("?{ty}")
                };
                self.list(&head, operands);
            }
        }
    }

    /// The name and the type of a variable of the current function.
    fn local(&self, id: LocalId) -> (&'a str, &'a Type) {
        let local = self
            .function
            .and_then(|function| function.locals.get(id.0 as usize));
        local.map_or(("?", &Type::Unknown), |local| (local.name.as_str(), &local.ty))
    }

    fn pair(&mut self, a: &Expr, b: &Expr) {
        self.expr(a);
        self.put(" ");
        self.expr(b);
        self.put(")");
    }

    fn literal(&mut self, bits: u32, ty: &Type) {
        let _ = match ty.scalar() {
            Some(Scalar::Bool) => write!(self.out, "{}", bits != 0),
            Some(Scalar::Int | Scalar::Int16) => write!(self.out, "{}", bits.cast_signed()),
            Some(Scalar::Float) => write!(self.out, "{:?}f", f32::from_bits(bits)),
            Some(Scalar::Half) => write!(self.out, "{:?}h", f32::from_bits(bits)),
            _ => write!(self.out, "{bits}u"),
        };
    }

    fn field_name(&self, ty: &Type, index: u32) -> String {
        let ty = match ty {
            Type::Resource(_, Some(element)) => element,
            other => other,
        };
        let found = match ty {
            Type::Struct(StructId(id)) => self.shader.structs.get(*id as usize),
            _ => None,
        };
        found
            .and_then(|found| found.fields.get(index as usize))
            .map_or_else(|| index.to_string(), |field| field.name.clone())
    }
}

/// `.xy` of a vector, `._0_5` of a matrix.
fn swizzle(components: &[u8], is_matrix: bool) -> String {
    let mut name = ".".to_owned();
    for component in components {
        if is_matrix {
            let _ = write!(name, "_{component}");
        } else {
            name.push(*b"xyzw".get(usize::from(*component)).unwrap_or(&b'?') as char);
        }
    }
    name
}

fn unary_operator(op: UnaryOp) -> &'static str {
    match op {
        UnaryOp::Negate => "neg",
        UnaryOp::Not => "!",
        UnaryOp::Complement => "~",
    }
}

fn operator(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Mul => "*",
        BinaryOp::Div => "/",
        BinaryOp::Mod => "%",
        BinaryOp::And => "&",
        BinaryOp::Or => "|",
        BinaryOp::Xor => "^",
        BinaryOp::Shl => "<<",
        BinaryOp::Shr => ">>",
        BinaryOp::Less => "<",
        BinaryOp::LessEqual => "<=",
        BinaryOp::Greater => ">",
        BinaryOp::GreaterEqual => ">=",
        BinaryOp::Equal => "==",
        BinaryOp::NotEqual => "!=",
        BinaryOp::LogicalAnd => "&&",
        BinaryOp::LogicalOr => "||",
    }
}
