//! Scopes of the variables of functions.
//!
//! From HLSL 2021 on, the scope of a variable in the header of a `for` ends with the loop. Before, it extends to the
//! end of the block around the loop, and the variable hides others of its name: FXC warns about that (X3078), and so
//! does DXC with `-Wfor-redefinition`. If a loop is the whole body of a branch or of another loop, that body is its
//! block: DXC opens a scope there, and FXC fails if the name is used outside.
//!
//! # If the version is unknown
//!
//! A name that means the same variable under both rules is that variable. A name that only the older rule resolves
//! has the meaning of that rule: under the newer one, no compiler accepts the text. A name with two meanings becomes
//! `version ? own : leaked` ([`Lowering::either`]), where `version` is a value that the host sets and that no text
//! can name. So a proof for every input is a proof under both rules, and two kernels are equal only if they are equal
//! under each. This works if the two meanings are numbers of one type and the name is only read. Any other statement
//! is opaque.

use super::Lowering;
use super::operands::opaque;
use crate::language::Version;
use crate::span::Span;
use crate::tree::{Direction, Expr, ExprKind, Global, GlobalId, LocalId, Shader, Stmt, Storage};
use crate::types::Type;
use crate::walk::expressions;

pub(super) const A_LOOPS: &str = "before HLSL 2021, a name here means a loop's variable; from HLSL 2021 on, it means \
                                  another variable: pass -HV";

pub(super) const ITS_OWN: &str = "the initialiser reads its own variable, which has no value yet";

/// The name of the global for the version, which the host sets. No text can spell this name.
const FLAG: &str = "[HLSL 2021]";

/// The meaning of a variable's name in the current block.
#[derive(Clone, Copy, Default)]
pub(super) struct Meaning {
    /// The variable that the block declares.
    own: Option<LocalId>,
    /// The variable that the older rule finds, if the version is unknown and this variable differs from `own`.
    leaked: Option<LocalId>,
}

/// The meaning of a name among the function's variables.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Variable {
    None,
    One(LocalId),
    /// Before HLSL 2021, the second variable. Since then, the first one; if there is none, the meaning of the name
    /// outside of the function.
    Either(Option<LocalId>, LocalId),
}

/// How the current statement uses names with two meanings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Doubt {
    #[default]
    None,
    /// It names one.
    Named,
    /// It uses one in a way that cannot be expressed for both meanings, for this reason.
    Open(&'static str),
}

impl<'a> Lowering<'a> {
    pub(super) fn open_scope(&self) -> usize {
        self.body.undo.len()
    }

    pub(super) fn close_scope(&mut self, mark: usize) {
        self.close_types(mark);
        while self.body.undo.len() > mark {
            match self.body.undo.pop() {
                Some((name, Some(meaning))) => {
                    self.body.scope.insert(name, meaning);
                }
                Some((name, None)) => {
                    self.body.scope.remove(name);
                }
                None => break,
            }
        }
    }

    /// Closes the scope of a `for`. In older versions its variables live on.
    pub(super) fn close_loop_scope(&mut self, mark: usize) {
        if self.shader.version.is_some_and(Version::is_like_cpp) {
            self.close_scope(mark);
            return;
        }
        let declared = self.body.undo.get(mark..).unwrap_or_default();
        let declared: Vec<(&'a [u8], LocalId)> = declared
            .iter()
            .filter_map(|(name, _)| Some((*name, self.body.scope.get(name)?.own?)))
            .collect();
        let has_types = self.body.undo_types.last().is_some_and(|(at, ..)| *at > mark);
        self.close_scope(mark);
        for (name, local) in declared {
            // Types stay in scope too, and a variable may hide one.
            if has_types || self.resolve(&self.types, name).is_some() {
                self.body.doubt = Doubt::Open(A_LOOPS);
            }
            let before = self.body.scope.get(name).copied();
            let meaning = if self.shader.version.is_some() {
                Meaning {
                    own: Some(local),
                    leaked: None,
                }
            } else {
                Meaning {
                    own: before.and_then(|before| before.own),
                    leaked: Some(local),
                }
            };
            self.set_meaning(name, meaning);
        }
    }

    pub(super) fn set_own(&mut self, name: &'a [u8], local: LocalId) {
        let own = Some(local);
        self.set_meaning(name, Meaning { own, leaked: None });
    }

    fn set_meaning(&mut self, name: &'a [u8], meaning: Meaning) {
        let before = self.body.scope.insert(name, meaning);
        self.body.undo.push((name, before));
    }

    pub(super) fn variable(&self, name: &[u8]) -> Variable {
        let meaning = self.body.scope.get(name).copied().unwrap_or_default();
        match (meaning.own, meaning.leaked) {
            (own, Some(leaked)) => Variable::Either(own, leaked),
            (Some(own), None) => Variable::One(own),
            (None, None) => Variable::None,
        }
    }

    /// `own` from HLSL 2021 on, and `leaked` before.
    pub(super) fn either(&mut self, own: Expr, leaked: Expr, span: Span) -> Expr {
        if own.ty != leaked.ty || own.ty.scalar().is_none() {
            return self.neither(A_LOOPS, span);
        }
        self.body.doubt = self.body.doubt.max(Doubt::Named);
        let flag = Expr {
            kind: ExprKind::Global(self.flag()),
            ty: Type::BOOL,
            span,
        };
        let ty = own.ty.clone();
        Expr {
            kind: ExprKind::Ternary(Box::new(flag), Box::new(own), Box::new(leaked)),
            ty,
            span,
        }
    }

    fn flag(&mut self) -> GlobalId {
        if let Some(flag) = self.flag {
            return flag;
        }
        let flag = Global {
            name: FLAG.to_owned(),
            ty: Type::BOOL,
            storage: Storage::Uniform,
            init: None,
            span: Span::default(),
            name_span: Span::default(),
            coherent: false,
        };
        let id = self.add_global(flag, None);
        self.flag = Some(id);
        id
    }

    /// An operand that is one of two things, so the statement cannot be followed.
    pub(super) fn neither(&mut self, reason: &'static str, span: Span) -> Expr {
        self.body.doubt = Doubt::Open(reason);
        self.told.insert(span);
        opaque(Vec::new(), Type::Unknown, span)
    }

    /// Why the statements lowered from one statement cannot be followed: they may write to a name with two meanings.
    pub(super) fn doubt_of(&self, statements: &[Stmt]) -> Option<&'static str> {
        let is_written = || expressions(statements).any(|expr| self.may_write_either(expr));
        match self.body.doubt {
            Doubt::None => None,
            Doubt::Open(reason) => Some(reason),
            Doubt::Named => is_written().then_some(A_LOOPS),
        }
    }

    /// Whether an expression may write to an operand that is one of two variables.
    fn may_write_either(&self, expr: &Expr) -> bool {
        let is_either = |operand: &Expr| self.is_either(operand);
        match &expr.kind {
            ExprKind::Assign { target, .. } | ExprKind::Step { target, .. } => is_either(target),
            ExprKind::Call(function, arguments) => {
                let callee = self.shader.functions.get(function.0 as usize);
                let parameters = callee.map_or(&[][..], |callee| &callee.parameters);
                let is_in = |at: usize| {
                    parameters
                        .get(at)
                        .is_some_and(|one| one.direction == Direction::In)
                };
                let mut arguments = arguments.iter().enumerate();
                arguments.any(|(at, argument)| !is_in(at) && is_either(argument))
            }
            ExprKind::Intrinsic(intrinsic, arguments) => {
                let mut arguments = arguments.iter().enumerate();
                arguments.any(|(at, argument)| intrinsic.may_write(at) && is_either(argument))
            }
            ExprKind::Method { arguments, .. } => arguments.iter().any(is_either),
            ExprKind::Opaque(operands) => operands.iter().any(is_either),
            _ => false,
        }
    }

    /// Whether this is a name with two meanings, or a part of one.
    fn is_either(&self, place: &Expr) -> bool {
        let mut place = place;
        while let ExprKind::Index(inner, _) | ExprKind::Field(inner, _) | ExprKind::Swizzle(inner, _) =
            &place.kind
        {
            place = inner;
        }
        self.shader.leaked(place).is_some()
    }
}

impl Shader {
    /// The meaning of a name before HLSL 2021, if it means something else since.
    #[must_use]
    pub fn leaked<'e>(&self, name: &'e Expr) -> Option<&'e Expr> {
        let ExprKind::Ternary(condition, _, leaked) = &name.kind else {
            return None;
        };
        let ExprKind::Global(flag) = condition.kind else {
            return None;
        };
        let flag = self.globals.get(flag.0 as usize)?;
        (flag.name == FLAG).then_some(leaked)
    }
}
