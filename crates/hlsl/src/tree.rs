//! The typed tree: what a translation unit means, every node with its [`Span`].
//!
//! Conversions are explicit. Wherever HLSL converts silently the tree holds a [`ExprKind::Cast`], so that
//! both operands of a [`ExprKind::Binary`] have the same type and readers need no conversion rules of their own.

use std::any::Any;
use std::sync::Arc;

use crate::language::Version;
use crate::span::Span;
use crate::types::{Scalar, StructId, Type};

macro_rules! index {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u32);
    };
}

index!(
    /// Index into [`Shader::globals`].
    GlobalId
);
index!(
    /// Index into [`Shader::functions`].
    FunctionId
);
index!(
    /// Index into [`Function::locals`] of the function at hand.
    LocalId
);

/// In which order memory holds the components of matrices that do not say it themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatrixOrder {
    RowMajor,
    ColumnMajor,
}

/// One translation unit, typed.
#[derive(Clone, Debug, Default)]
pub struct Shader {
    /// Names of the functions with a wanted word that were left out, since nothing wanted names them.
    pub unread: Vec<String>,
    /// A hash of what was to be read, where that is not all. Two units of one file that share it hold the same findings.
    pub likeness: Option<u64>,
    /// Where in the text files would stand that were not found, or not followed.
    pub gaps: Vec<u32>,
    /// Which macros are defined where.
    pub defined: crate::Defined,
    /// Each `#pragma pack_matrix` with the place in the text from which on it holds, in order.
    pub matrix_orders: Vec<(u32, MatrixOrder)>,
    /// An `#error` stands in what is read: no compiler takes it as it is.
    pub is_refused: bool,
    /// Names that are defined from outside of the files.
    pub given: Vec<(String, String)>,
    /// The version of HLSL that it is read as; `None` where it may be any of them, and what differs is left open.
    pub version: Option<Version>,
    pub structs: Vec<Struct>,
    pub globals: Vec<Global>,
    pub functions: Vec<Function>,
    /// What the parser saw; every [`Span`] is a range of it.
    pub text: Vec<u8>,
    pub origins: crate::Origins,
    pub sources: crate::Sources,
    pub memo: crate::Memo,
}

impl Shader {
    /// The result of `find` on the whole unit, computed once for each type. The unit must not change afterwards.
    pub fn once<T: Any + Send + Sync>(&self, find: impl FnOnce(&Shader) -> T) -> Arc<T> {
        self.memo.get_or_make(|| find(self))
    }

    /// The functions that carry `[numthreads]`, in order of their text.
    pub fn entry_points(&self) -> impl Iterator<Item = (FunctionId, &Function)> {
        (0u32..)
            .zip(&self.functions)
            .filter(|(_, function)| function.group_size.is_some() && function.body.is_some())
            .map(|(index, function)| (FunctionId(index), function))
    }

    /// Number of scalar components a value of `ty` is made of; 0 for resources and unknown types.
    #[must_use]
    pub fn components(&self, ty: &Type) -> usize {
        self.total(ty, |_| 1, 0)
    }

    /// Number of values that one of `ty` is followed by: its components, and one for each part of a type that is not
    /// known; 0 for resources.
    #[must_use]
    pub fn parts(&self, ty: &Type) -> usize {
        self.total(ty, |_| 1, 1)
    }

    /// As [`Shader::component_name`], of what the global of this name holds or is.
    #[must_use]
    pub fn component_name_of(&self, global: &str, component: usize) -> Option<String> {
        let global = self.globals.iter().find(|known| known.name == global)?;
        let held = match &global.ty {
            Type::Resource(_, Some(element)) => element,
            ty => ty,
        };
        self.component_name(held, component)
    }

    /// What names a component behind a value of `ty`, such as `.x`, `[1][0]` or `.Weights[2].y`; `None` where there is no
    /// such component.
    #[must_use]
    pub fn component_name(&self, ty: &Type, component: usize) -> Option<String> {
        match ty {
            Type::Scalar(_) | Type::Vector(_, 1) if component == 0 => Some(String::new()),
            Type::Vector(_, n) if component < usize::from(*n) => {
                let letter = ["x", "y", "z", "w"].get(component)?;
                Some(format!(".{letter}"))
            }
            Type::Matrix(_, rows, columns) => {
                let columns = usize::from(*columns);
                let row = component.checked_div(columns)?;
                (row < usize::from(*rows)).then(|| format!("[{row}][{}]", component % columns))
            }
            Type::Struct(StructId(id)) => {
                let mut within = component;
                for field in &self.structs.get(*id as usize)?.fields {
                    let own = self.components(&field.ty);
                    if within < own {
                        let name = self.component_name(&field.ty, within)?;
                        return Some(format!(".{}{name}", field.name));
                    }
                    within -= own;
                }
                None
            }
            Type::Array(element, length) => {
                let each = self.components(element);
                let index = component.checked_div(each)?;
                let name = self.component_name(element, component % each)?;
                (index < *length as usize).then(|| format!("[{index}]{name}"))
            }
            _ => None,
        }
    }

    /// Whether `ty` is a resource, or a value of it has one in it.
    #[must_use]
    pub fn holds_resource(&self, ty: &Type) -> bool {
        match ty {
            Type::Resource(..) => true,
            Type::Array(element, _) => self.holds_resource(element),
            Type::Struct(StructId(id)) => self
                .structs
                .get(*id as usize)
                .is_some_and(|known| known.fields.iter().any(|field| self.holds_resource(&field.ty))),
            _ => false,
        }
    }

    /// Whether `ty` is known, and the types of all its members are.
    #[must_use]
    pub fn is_known(&self, ty: &Type) -> bool {
        match ty {
            Type::Unknown => false,
            Type::Array(element, _) => self.is_known(element),
            Type::Struct(StructId(id)) => self
                .structs
                .get(*id as usize)
                .is_some_and(|known| known.fields.iter().all(|field| self.is_known(&field.ty))),
            _ => true,
        }
    }

    /// 32-bit words that a value of `ty` takes in groupshared memory at most; 0 for resources and unknown types.
    #[must_use]
    pub fn words(&self, ty: &Type) -> usize {
        let of_scalar = |scalar| match scalar {
            Scalar::Int64 | Scalar::Uint64 | Scalar::Double => 2,
            _ => 1,
        };
        self.total(ty, of_scalar, 0)
    }

    fn total(&self, ty: &Type, of_scalar: fn(Scalar) -> usize, of_unknown: usize) -> usize {
        match ty {
            Type::Void | Type::Resource(..) => 0,
            Type::Unknown => of_unknown,
            Type::Scalar(scalar) => of_scalar(*scalar),
            Type::Vector(scalar, n) => of_scalar(*scalar) * usize::from(*n),
            Type::Matrix(scalar, rows, columns) => {
                of_scalar(*scalar) * usize::from(*rows) * usize::from(*columns)
            }
            Type::Struct(StructId(id)) => self.structs.get(*id as usize).map_or(0, |s| {
                let fields = s
                    .fields
                    .iter()
                    .map(|field| self.total(&field.ty, of_scalar, of_unknown));
                fields.fold(0, usize::saturating_add)
            }),
            Type::Array(element, length) => {
                let each = self.total(element, of_scalar, of_unknown);
                each.saturating_mul(*length as usize)
            }
        }
    }
}

#[derive(Clone, Debug)]
pub struct Struct {
    pub name: String,
    pub fields: Vec<Field>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct Field {
    pub name: String,
    pub ty: Type,
    /// The semantic after the colon, as written.
    pub semantic: Option<String>,
    /// It holds what is inherited from the struct of this name.
    pub is_base: bool,
}

impl Field {
    /// What follows an object to name the field of it: nothing where its members are named as the object's own.
    #[must_use]
    pub fn selector(&self) -> String {
        if self.is_base {
            return String::new();
        }
        format!(".{}", self.name)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    Groupshared,
    /// `static const`: its initialiser is its value.
    Const,
    /// `static` and mutable: one a thread.
    Static,
    /// A member of a `cbuffer` or a plain global: the same for every thread of a dispatch, set by the host.
    Uniform,
    Resource,
    /// Any of the above but a resource: it stands behind a macro that no file at hand defines, which may say which; or
    /// compilers do not agree.
    Unknown,
}

#[derive(Clone, Debug)]
pub struct Global {
    /// With the namespaces and structs around it: two of one name are one.
    pub name: String,
    pub ty: Type,
    pub storage: Storage,
    pub init: Option<Expr>,
    /// The whole declaration, to its semicolon.
    pub span: Span,
    pub name_span: Span,
    /// `globallycoherent` was written, or may be what a macro stands for.
    pub coherent: bool,
}

impl Global {
    /// The name in its own scope, as it is declared.
    pub fn own_name(&self) -> &str {
        self.name.rsplit_once("::").map_or(&*self.name, |(_, own)| own)
    }
}

#[derive(Clone, Debug)]
pub struct Function {
    pub name: String,
    pub name_span: Span,
    /// From the first attribute or the return type to the closing brace.
    pub span: Span,
    pub parameters: Vec<Parameter>,
    pub locals: Vec<Local>,
    pub returns: Type,
    /// `None` for a declaration without a body.
    pub body: Option<Vec<Stmt>>,
    /// `[numthreads(x, y, z)]`, evaluated. D3D may not allow it: see [`is_group_size`].
    pub group_size: Option<[u32; 3]>,
    /// Span of the numthreads attribute.
    pub group_size_span: Span,
    /// `[WaveSize(min, max)]`; a single size is both.
    pub wave_size: Option<(u32, u32)>,
    /// One reading of a template: the same text may be read with other types too.
    pub is_instance: bool,
    /// It is run as an entry point, and is none: callers that are not at hand use what it leaves.
    pub is_called_elsewhere: bool,
}

/// The number of threads in the largest group that D3D allows (D3D11.3 functional spec, 18.6).
pub const MAX_THREADS: u32 = 1024;

/// The number of threads in a group. The product of three 32-bit numbers needs 96 bits.
#[must_use]
pub fn threads_in(group_size: [u32; 3]) -> u128 {
    group_size.into_iter().map(u128::from).product()
}

/// Whether D3D allows a group of this size.
#[must_use]
pub fn is_group_size(group_size: [u32; 3]) -> bool {
    (1..=u128::from(MAX_THREADS)).contains(&threads_in(group_size))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    In,
    Out,
    InOut,
}

#[derive(Clone, Debug)]
pub struct Parameter {
    /// The local that holds it in the body.
    pub local: LocalId,
    pub direction: Direction,
    /// As written, e.g. `SV_GroupIndex`.
    pub semantic: Option<String>,
    pub default: Option<Expr>,
}

#[derive(Clone, Debug)]
pub struct Local {
    pub name: String,
    pub ty: Type,
    /// The declarator's name.
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct Stmt {
    pub kind: StmtKind,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum StmtKind {
    Declare {
        local: LocalId,
        init: Option<Expr>,
    },
    Expr(Expr),
    Block(Vec<Stmt>),
    If {
        condition: Expr,
        then: Box<Stmt>,
        otherwise: Option<Box<Stmt>>,
    },
    Loop(Box<Loop>),
    Switch {
        value: Expr,
        cases: Vec<Case>,
    },
    Return(Option<Expr>),
    Break,
    Continue,
    Discard,
    /// Text that could not be understood: anything may have happened.
    Opaque,
}

/// `for`, `while` and `do` alike.
#[derive(Clone, Debug)]
pub struct Loop {
    pub init: Vec<Stmt>,
    /// `None`: always true.
    pub condition: Option<Expr>,
    pub step: Option<Expr>,
    pub body: Stmt,
    /// `false` for `do … while`.
    pub tests_first: bool,
    /// The number in `[unroll(n)]`, 0 where it is not known: after so many passes some compilers end the loop, and others do
    /// not. HLSL's reference has it as "the maximum number of times the loop is to execute", which holds for FXC, and for
    /// DXC's DXIL up to HLSL 2021; for SPIR-V it is a hint.
    pub limit: Option<u32>,
}

/// One arm of a `switch`; falls through to the next unless its body breaks.
#[derive(Clone, Debug)]
pub struct Case {
    /// `None` is `default`.
    pub label: Option<Expr>,
    pub body: Vec<Stmt>,
}

#[derive(Clone, Debug)]
pub struct Expr {
    pub kind: ExprKind,
    pub ty: Type,
    pub span: Span,
}

impl Expr {
    /// What is converted, where this is a conversion.
    #[must_use]
    pub fn uncast(&self) -> &Expr {
        let mut expr = self;
        while let ExprKind::Cast(inner) = &expr.kind {
            expr = inner;
        }
        expr
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum UnaryOp {
    Negate,
    /// `!`, on bool.
    Not,
    /// `~`
    Complement,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    And,
    Or,
    Xor,
    /// The right operand has the left one's type; its low 5 bits count.
    Shl,
    Shr,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
    /// `&&` on bool operands.
    LogicalAnd,
    LogicalOr,
}

impl BinaryOp {
    #[must_use]
    pub fn is_comparison(self) -> bool {
        matches!(
            self,
            BinaryOp::Less
                | BinaryOp::LessEqual
                | BinaryOp::Greater
                | BinaryOp::GreaterEqual
                | BinaryOp::Equal
                | BinaryOp::NotEqual
        )
    }
}

#[derive(Clone, Debug)]
pub enum ExprKind {
    /// The 32-bit pattern of a value of the node's scalar type (bool: 0 or 1). Literals wider than 32 bits are `Opaque`.
    Literal(u32),
    Local(LocalId),
    Global(GlobalId),
    /// The operand has the node's type.
    Unary(UnaryOp, Box<Expr>),
    /// Operands of one type. The node's type is theirs, or bool of the same shape for a comparison.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// Condition is a scalar bool, or a bool vector that selects by component.
    Ternary(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `target = value`, or `target op= value`: then the operation happens in `value`'s type and the result is
    /// converted to the target's.
    Assign {
        target: Box<Expr>,
        op: Option<BinaryOp>,
        value: Box<Expr>,
    },
    /// `++x`, `x++`, `--x`, `x--`.
    Step {
        target: Box<Expr>,
        increment: bool,
        /// The value is the new one.
        prefix: bool,
    },
    /// Element of an array, vector, matrix (a row) or buffer. The index is a scalar int or uint
    /// (a vector for a texture).
    Index(Box<Expr>, Box<Expr>),
    /// Field of a struct, by its position.
    Field(Box<Expr>, u32),
    /// Components of a vector or scalar, each 0..4; of a matrix, row * columns + column.
    Swizzle(Box<Expr>, Vec<u8>),
    /// Conversion to the node's type: between scalars, scalar to vector or matrix (splat), to fewer components
    /// (truncation), int literal 0 to a struct or array (zero).
    Cast(Box<Expr>),
    /// `float3(a, b)` or `{a, b}`: the arguments' components in order.
    Construct(Vec<Expr>),
    Call(FunctionId, Vec<Expr>),
    Intrinsic(crate::Intrinsic, Vec<Expr>),
    /// A method of a resource, e.g. `b.Load(i)`.
    Method {
        object: Box<Expr>,
        method: crate::Method,
        arguments: Vec<Expr>,
    },
    Comma(Box<Expr>, Box<Expr>),
    /// Not understood. Its value is unknown; it may write to what its operands name as places.
    Opaque(Vec<Expr>),
}
