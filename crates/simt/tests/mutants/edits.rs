//! Every small change of a kernel's text that its tree suggests.

use shaderlint_hlsl::{BinaryOp, Expr, ExprKind, Function, Scalar, Shader, Span, Stmt, StmtKind, Type};

/// Other text in a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    pub span: Span,
    pub text: String,
}

struct Collector<'s> {
    shader: &'s Shader,
    function: &'s Function,
    /// An expression for the thread's number, and half the group.
    thread: Option<(String, u32)>,
    edits: Vec<Edit>,
}

/// The edits of all functions.
pub fn edits(shader: &Shader) -> Vec<Edit> {
    let mut edits = Vec::new();
    for function in &shader.functions {
        let Some(body) = &function.body else { continue };
        let threads: u32 = function.group_size.map_or(16, |size| size.iter().product());
        let thread = function.parameters.iter().find_map(|parameter| {
            let name = &function.locals.get(parameter.local.0 as usize)?.name;
            match parameter.semantic.as_deref()?.to_ascii_lowercase().as_str() {
                "sv_groupindex" => Some((name.clone(), threads / 2)),
                "sv_groupthreadid" => Some((format!("{name}.x"), threads / 2)),
                _ => None,
            }
        });
        let mut collector = Collector {
            shader,
            function,
            thread,
            edits: Vec::new(),
        };
        collector.block(body);
        edits.extend(collector.edits);
    }
    edits.retain(|edit| edit.span.start < edit.span.end || !edit.text.is_empty());
    edits
}

/// The text with some edits made, none of which overlaps another.
pub fn apply(text: &str, edits: &[&Edit]) -> String {
    let mut edits = edits.to_vec();
    edits.sort_by_key(|edit| edit.span);
    let mut result = String::new();
    let mut at = 0;
    for edit in edits {
        result.push_str(&text[at..edit.span.start as usize]);
        result.push_str(&edit.text);
        at = edit.span.end as usize;
    }
    result.push_str(&text[at..]);
    result
}

/// Operators that might stand where another does.
fn alternatives(op: BinaryOp) -> &'static [&'static str] {
    match op {
        BinaryOp::Add => &["-", "*", "|"],
        BinaryOp::Sub => &["+", "^"],
        BinaryOp::Mul => &["+", "/"],
        BinaryOp::Div => &["*", "-"],
        BinaryOp::Mod => &["/", "&"],
        BinaryOp::And => &["|", "^", "%"],
        BinaryOp::Or => &["&", "+"],
        BinaryOp::Xor => &["&", "+"],
        BinaryOp::Shl => &[">>", "*"],
        BinaryOp::Shr => &["<<", "-"],
        BinaryOp::Less => &["<=", ">", "!="],
        BinaryOp::LessEqual => &["<", ">="],
        BinaryOp::Greater => &[">=", "<", "!="],
        BinaryOp::GreaterEqual => &[">", "<=", "=="],
        BinaryOp::Equal => &["!=", "<=", ">="],
        BinaryOp::NotEqual => &["==", "<"],
        BinaryOp::LogicalAnd => &["||"],
        BinaryOp::LogicalOr => &["&&"],
    }
}

impl Collector<'_> {
    fn text(&self, span: Span) -> String {
        String::from_utf8_lossy(span.slice(&self.shader.text)).into_owned()
    }

    fn put(&mut self, span: Span, text: impl Into<String>) {
        let (edit, old) = (text.into(), self.text(span));
        if edit != old {
            self.edits.push(Edit { span, text: edit });
        }
    }

    /// The operator's own text, between its operands.
    fn operator(&self, a: Span, b: Span) -> Option<Span> {
        let between = self.text(Span {
            start: a.end,
            end: b.start.max(a.end),
        });
        let is_sign = |c: char| "+-*/%&|^<>=!".contains(c);
        let start = between.find(is_sign)?;
        let length = between[start..]
            .find(|c| !is_sign(c))
            .unwrap_or(between.len() - start);
        let start = a.end + start as u32;
        Some(Span {
            start,
            end: start + length as u32,
        })
    }

    fn block(&mut self, statements: &[Stmt]) {
        for pair in statements.windows(2) {
            let (a, b) = (pair[0].span, pair[1].span);
            if a.end <= b.start {
                let between = self.text(Span {
                    start: a.end,
                    end: b.start,
                });
                let swapped = format!("{}{between}{}", self.text(b), self.text(a));
                self.put(a.to(b), swapped);
            }
        }
        for statement in statements {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Stmt) {
        let span = statement.span;
        let text = self.text(span);
        let is_whole = text.ends_with(';') || text.ends_with('}');
        let is_simple = matches!(
            statement.kind,
            StmtKind::Expr(_) | StmtKind::If { .. } | StmtKind::Loop(_)
        );
        if is_whole && is_simple {
            self.put(span, ";");
            self.put(span, format!("{{ {text} GroupMemoryBarrierWithGroupSync(); }}"));
            if let Some((thread, half)) = self.thread.clone() {
                self.put(span, format!("if ({thread} > 0) {{ {text} }}"));
                self.put(span, format!("if ({thread} < {half}) {{ {text} }}"));
            }
        }
        match &statement.kind {
            StmtKind::Declare { init: Some(init), .. } => self.expr(init),
            StmtKind::Expr(expr) => self.expr(expr),
            StmtKind::Block(body) => self.block(body),
            StmtKind::If {
                condition,
                then,
                otherwise,
            } => {
                self.condition(condition);
                self.statement(then);
                if let Some(otherwise) = otherwise {
                    self.statement(otherwise);
                }
            }
            StmtKind::Loop(l) => {
                self.block(&l.init);
                for expr in l.condition.iter().chain(&l.step) {
                    self.expr(expr);
                }
                self.statement(&l.body);
            }
            StmtKind::Return(Some(value)) => self.expr(value),
            _ => {}
        }
    }

    fn condition(&mut self, condition: &Expr) {
        let text = self.text(condition.span);
        for other in [format!("!({text})"), "true".into(), "false".into()] {
            self.put(condition.span, other);
        }
        self.expr(condition);
    }

    fn expr(&mut self, expr: &Expr) {
        let text = self.text(expr.span);
        match &expr.kind {
            ExprKind::Literal(word) => {
                let is_float = expr.ty.scalar().is_some_and(Scalar::is_float);
                if is_float {
                    for other in ["0.0", "1.0", "2.0"] {
                        self.put(expr.span, other);
                    }
                } else if expr.ty.scalar() != Some(Scalar::Bool) {
                    let others = [
                        word.wrapping_add(1),
                        word.wrapping_sub(1),
                        word / 2,
                        word.wrapping_mul(2),
                        0,
                    ];
                    for other in others.into_iter().filter(|other| other != word) {
                        self.put(expr.span, other.cast_signed().to_string());
                    }
                }
            }
            ExprKind::Local(local) => {
                let ty = &self.function.locals[local.0 as usize].ty;
                if matches!(ty, Type::Scalar(Scalar::Int | Scalar::Uint)) {
                    self.put(expr.span, format!("({text} + 1)"));
                    self.put(expr.span, format!("({text} ^ 1)"));
                }
            }
            ExprKind::Global(_) | ExprKind::Opaque(_) => {}
            ExprKind::Unary(_, a) | ExprKind::Cast(a) | ExprKind::Field(a, _) | ExprKind::Swizzle(a, _) => {
                self.expr(a);
            }
            ExprKind::Binary(op, a, b) => {
                if let Some(operator) = self.operator(a.span, b.span) {
                    for other in alternatives(*op) {
                        self.put(operator, *other);
                    }
                }
                self.put(expr.span, self.text(a.span));
                self.put(expr.span, self.text(b.span));
                self.expr(a);
                self.expr(b);
            }
            ExprKind::Ternary(condition, a, b) => {
                self.put(expr.span, format!("({})", self.text(a.span)));
                self.put(expr.span, format!("({})", self.text(b.span)));
                self.condition(condition);
                self.expr(a);
                self.expr(b);
            }
            ExprKind::Assign { target, value, .. } => {
                if let Some(operator) = self.operator(target.span, value.span) {
                    for other in ["=", "+=", "-=", "*=", "|="] {
                        self.put(operator, other);
                    }
                }
                self.target(target);
                self.expr(value);
            }
            ExprKind::Step { target, .. } => {
                let other = if text.contains("++") {
                    text.replace("++", "--")
                } else {
                    text.replace("--", "++")
                };
                self.put(expr.span, other);
                self.target(target);
            }
            ExprKind::Index(base, index) => {
                let text = self.text(index.span);
                for other in [format!("{text} + 1"), format!("{text} - 1"), "0".into()] {
                    self.put(index.span, other);
                }
                self.target(base);
                self.expr(index);
            }
            ExprKind::Construct(arguments)
            | ExprKind::Call(_, arguments)
            | ExprKind::Intrinsic(_, arguments) => {
                let name = text.split('(').next().unwrap_or_default().to_owned();
                let other = match name.as_str() {
                    "min" => "max",
                    "max" => "min",
                    "AllMemoryBarrierWithGroupSync" | "DeviceMemoryBarrierWithGroupSync" => {
                        "GroupMemoryBarrierWithGroupSync"
                    }
                    _ => "",
                };
                if !other.is_empty() {
                    self.put(expr.span, text.replacen(&name, other, 1));
                }
                for argument in arguments {
                    self.expr(argument);
                }
            }
            ExprKind::Method { arguments, .. } => {
                for argument in arguments {
                    self.expr(argument);
                }
            }
            ExprKind::Comma(a, b) => {
                self.expr(a);
                self.expr(b);
            }
        }
    }

    /// What is assigned to: only the indices in it are expressions of their own.
    fn target(&mut self, target: &Expr) {
        match &target.kind {
            ExprKind::Index(..) => self.expr(target),
            ExprKind::Field(base, _) | ExprKind::Swizzle(base, _) => self.target(base),
            _ => {}
        }
    }
}
