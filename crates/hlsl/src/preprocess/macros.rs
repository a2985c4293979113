//! A macro's definition, read from a `#define`.

use std::rc::Rc;

use super::lex::Kind;
use super::token::{Symbol, Token};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// The token stands for itself.
    Plain,
    /// The parameter of this index.
    Parameter(usize),
    /// `#` and the parameter of this index.
    Stringized(usize),
}

/// A token of a macro's body, and what replaces it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub token: Token,
    pub role: Role,
    /// `##` follows it.
    pub pastes: bool,
}

#[derive(Debug)]
pub(super) enum Macro {
    /// `__LINE__`
    Line,
    /// `__FILE__`
    File,
    /// `__INCLUDE_LEVEL__`
    Level,
    /// `_Pragma`
    Pragma,
    Defined {
        /// Number of parameters of a function-like macro, the variadic one included.
        parameters: Option<usize>,
        /// The last parameter takes all remaining arguments.
        variadic: bool,
        body: Body,
    },
}

#[derive(Debug)]
pub(super) enum Body {
    /// The same tokens at every call: no replacing or pasting.
    Plain(Rc<Vec<Token>>),
    Parts(Vec<Part>),
}

impl Macro {
    pub fn is_function_like(&self) -> bool {
        matches!(
            self,
            Macro::Pragma
                | Macro::Defined {
                    parameters: Some(_),
                    ..
                }
        )
    }
}

/// A fault in a definition, and its token.
pub(super) type Complaint = (&'static str, Option<Token>);

/// Reads the macro's name and definition after `#define`. A fault that leaves a usable macro goes to `complaints`.
pub(super) fn definition(
    line: &[Token],
    complaints: &mut Vec<Complaint>,
) -> Result<(Symbol, Macro), Complaint> {
    let (name, rest) = line.split_first().ok_or(("#define without a name", None))?;
    if name.kind != Kind::Ident {
        return Err(("a macro's name must be an identifier", Some(*name)));
    }
    if matches!(name.symbol, Symbol::DEFINED | Symbol::VA_ARGS) {
        return Err(("a macro cannot have this name", Some(*name)));
    }
    let (parameters, variadic, rest) = match rest.split_first() {
        Some((open, rest)) if open.symbol == Symbol::OPEN && !open.white => {
            let (parameters, variadic, rest) = parameters(*open, rest)?;
            (Some(parameters), variadic, rest)
        }
        _ => (None, false, rest),
    };
    let parts = body(parameters.as_deref(), rest, complaints);
    let is_plain = parts.iter().all(|part| part.role == Role::Plain && !part.pastes);
    let body = if is_plain {
        Body::Plain(Rc::new(parts.iter().map(|part| part.token).collect()))
    } else {
        Body::Parts(parts)
    };
    let parameters = parameters.map(|parameters| parameters.len());
    Ok((
        name.symbol,
        Macro::Defined {
            parameters,
            variadic,
            body,
        },
    ))
}

/// The names between the parentheses, whether the last is variadic, and the tokens after them.
fn parameters(open: Token, line: &[Token]) -> Result<(Vec<Symbol>, bool, &[Token]), Complaint> {
    const MALFORMED: &str = "malformed list of macro parameters";
    let mut names: Vec<Symbol> = Vec::new();
    let mut rest = line;
    if let Some((first, rest)) = rest.split_first()
        && first.symbol == Symbol::CLOSE
    {
        return Ok((names, false, rest));
    }
    loop {
        let (token, after) = rest.split_first().ok_or((MALFORMED, Some(open)))?;
        let mut variadic = token.symbol == Symbol::ELLIPSIS;
        rest = after;
        if variadic {
            names.push(Symbol::VA_ARGS);
        } else if token.kind == Kind::Ident {
            if names.contains(&token.symbol) {
                return Err(("two macro parameters have the same name", Some(*token)));
            }
            names.push(token.symbol);
            if let Some((ellipsis, after)) = rest.split_first()
                && ellipsis.symbol == Symbol::ELLIPSIS
            {
                variadic = true;
                rest = after;
            }
        } else {
            return Err((MALFORMED, Some(*token)));
        }
        let (token, after) = rest.split_first().ok_or((MALFORMED, Some(open)))?;
        rest = after;
        match token.symbol {
            Symbol::CLOSE => return Ok((names, variadic, rest)),
            Symbol::COMMA if !variadic => {}
            _ => return Err((MALFORMED, Some(*token))),
        }
    }
}

fn body(parameters: Option<&[Symbol]>, line: &[Token], complaints: &mut Vec<Complaint>) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::with_capacity(line.len());
    let index = |token: &Token| parameters?.iter().position(|&name| name == token.symbol);
    let mut tokens = line.iter().copied().peekable();
    while let Some(mut token) = tokens.next() {
        if token.symbol == Symbol::PASTE {
            match parts.last_mut() {
                Some(left) if tokens.peek().is_some() => left.pastes = true,
                _ => complaints.push(("`##` at an end of a macro's body", Some(token))),
            }
            continue;
        }
        let mut role = index(&token).map_or(Role::Plain, Role::Parameter);
        if token.symbol == Symbol::HASH && parameters.is_some() {
            match tokens.peek().and_then(index) {
                Some(parameter) => {
                    role = Role::Stringized(parameter);
                    tokens.next();
                }
                None => complaints.push(("`#` is not followed by a macro parameter", Some(token))),
            }
        }
        if parts.is_empty() {
            token.white = false;
        }
        parts.push(Part {
            token,
            role,
            pastes: false,
        });
    }
    parts
}
