//! Lowers concrete syntax to the typed tree, one top-level item at a time.
//!
//! The modules build on each other in this order: [`relations`] between types, [`signatures`] of intrinsics and
//! [`operands`]; [`literals`] and [`constants`]; [`wide`] for expressions that compilers evaluate in 64 bits;
//! [`conversions`]; [`intrinsics`]. The modules that read syntax come after these.

mod calls;
mod constants;
mod conversions;
mod declarations;
mod deduction;
mod expressions;
mod functions;
mod gaps;
mod initializers;
mod intrinsics;
mod literals;
mod members;
mod methods;
mod names;
mod operands;
mod parts;
mod rays;
mod relations;
mod scoping;
mod signatures;
mod statements;
mod statics;
mod strangers;
mod structs;
mod syntax;
mod templates;
mod typing;
mod unmodelled;
mod wide;

use std::borrow::Cow;

use rustc_hash::{FxHashMap, FxHashSet};
use tree_sitter::{Node, Parser, Tree};

use crate::language::Version;
use crate::lexical::{Item, ItemKind, Lexed, TextProblem, Token, WantedText, leave_out_unnamed};
use crate::span::Span;
use crate::tree::{Function, FunctionId, GlobalId, Local, LocalId, Shader, Stmt, StmtKind};
use crate::types::{EnumId, StructId, Type};
use constants::Constant;
use parts::{Part, part};
use scoping::{Doubt, Meaning};
use syntax::{parser, syntax};
use templates::Templates;

/// The maximum depth of statements and expressions. Deeper ones are opaque.
const MAX_DEPTH: u32 = 192;

type Name<'a> = Cow<'a, [u8]>;

/// The unit being lowered and the names known so far.
struct Lowering<'a> {
    text: &'a [u8],
    lexed: &'a Lexed,
    /// The difference between an offset in the text and one in the current parse.
    base: i64,
    shader: Shader,
    problems: Vec<TextProblem>,
    unknown: FxHashSet<&'a [u8]>,
    /// Places whose reason for being opaque is reported already, or needs no report.
    told: FxHashSet<Span>,
    /// Operations on values of known types whose own type is unknown here. HLSL defines their type, so no other type
    /// may replace it.
    unsettled: FxHashSet<Span>,
    /// The values of operations on float literals that compilers evaluate in 64 bits, where 32 bits round differently.
    wide_floats: FxHashMap<Span, f64>,
    types: FxHashMap<Name<'a>, Type>,
    globals: FxHashMap<Name<'a>, GlobalId>,
    functions: FxHashMap<Name<'a>, Vec<FunctionId>>,
    templates: Templates<'a>,
    enumerators: FxHashMap<Name<'a>, (Constant, Type)>,
    /// The number of enumerations.
    enumerations: u32,
    /// The enumerations that are an `enum class`.
    scoped_enumerations: FxHashSet<EnumId>,
    /// The value of each constant, by [`GlobalId`].
    global_values: Vec<Option<Constant>>,
    methods: FxHashMap<(StructId, &'a [u8]), Vec<FunctionId>>,
    with_methods: FxHashSet<StructId>,
    /// Methods without an implicit `this`.
    static_methods: FxHashSet<FunctionId>,
    /// The fields of a struct that hold its bases.
    bases: FxHashMap<StructId, Vec<u32>>,
    /// The scopes of the structs whose members are being read, with their bases.
    open_structs: Vec<(Name<'a>, Vec<StructId>)>,
    /// By [`StructId`]: the depth of its nested structs, and the number of fields that a walk over it visits.
    struct_sizes: Vec<(u32, u32)>,
    /// By [`StructId`]: the scope of its static members and types.
    scopes: Vec<Name<'a>>,
    /// The current scope: a namespace or a struct, with a trailing `::`.
    namespace: Name<'a>,
    /// Each `using namespace`: the scope that contains it, and the namespace.
    used: Vec<(Name<'a>, Name<'a>)>,
    body: Body<'a>,
    /// The number of `static` variables that became globals, by the name of their function.
    hidden: FxHashMap<String, u32>,
    /// The global that selects one of two meanings of a name, if there is such a name.
    flag: Option<GlobalId>,
    depth: u32,
    too_deep: bool,
    /// The current declaration could not be read completely.
    is_broken: bool,
}

/// The function being lowered.
#[derive(Default)]
struct Body<'a> {
    /// The function's name.
    name: String,
    locals: Vec<Local>,
    scope: FxHashMap<&'a [u8], Meaning>,
    /// The meaning that each name had before it was declared again.
    undo: Vec<(&'a [u8], Option<Meaning>)>,
    /// The variable whose initialiser is being read. Inside it, the name means the new variable, which has no value
    /// yet (C++, `[basic.scope.pdecl]`, as in DXC).
    initialised: Option<&'a [u8]>,
    /// The same as `undo` for types, each with the length of `undo` when the type was declared.
    undo_types: Vec<(usize, Name<'a>, Option<Type>)>,
    values: FxHashMap<LocalId, Constant>,
    /// The globals that replace `static` variables.
    statics: FxHashMap<LocalId, GlobalId>,
    this: Option<(LocalId, StructId)>,
    this_written: bool,
    /// The struct that has it as a method, static or not.
    owner: Option<StructId>,
    returns: Option<Type>,
    doubt: Doubt,
}

/// Reads expanded text into a typed tree. Fills every field of [`Shader`] except `origins`, `sources`, `gaps`, `defined`,
/// `matrix_orders`, `is_refused` and `given`.
///
/// It never fails: an unreadable part becomes [`StmtKind::Opaque`] or [`crate::ExprKind::Opaque`] in the tree, and a
/// problem with its place.
#[must_use]
pub fn parse(text: Vec<u8>) -> (Shader, Vec<TextProblem>) {
    parse_wanted(text, None, None)
}

/// As [`parse`], without the items that [`leave_out_unnamed`] leaves out. It reads nothing if no remaining item has a
/// wanted word.
pub(crate) fn parse_wanted(
    text: Vec<u8>,
    wanted: Option<&WantedText<'_>>,
    version: Option<Version>,
) -> (Shader, Vec<TextProblem>) {
    if text.len() >= i32::MAX as usize {
        let problem = TextProblem::new("text of 2 GiB or more", Span::default());
        return (
            Shader {
                text,
                ..Shader::default()
            },
            vec![problem],
        );
    }
    let mut shader = Shader {
        version,
        ..Shader::default()
    };
    // Without wanted words, nothing is wanted.
    if wanted.is_some_and(|wanted| wanted.words.is_empty()) {
        shader.text = text;
        return (shader, Vec::new());
    }
    let mut lexed = crate::lexical::lex(&text);
    if let Some(wanted) = wanted {
        let left_out = leave_out_unnamed(&mut lexed, &text, wanted);
        shader.unread = left_out.functions;
        // `is_known` is called for every text, because it also records the likeness of a text that is not read.
        if (wanted.is_known)(&text, &lexed) || left_out.is_all {
            shader.text = text;
            return (shader, Vec::new());
        }
    }
    let (mut shader, problems) = lower(&text, &lexed, shader);
    shader.text = text;
    (shader, problems)
}

/// Lowers the text after the lexical pass; `shader` holds the facts that are known before.
pub(crate) fn lower(text: &[u8], lexed: &Lexed, shader: Shader) -> (Shader, Vec<TextProblem>) {
    let mut lowering = Lowering {
        text,
        lexed,
        base: 0,
        shader,
        problems: lexed.problems.clone(),
        unknown: FxHashSet::default(),
        told: FxHashSet::default(),
        unsettled: FxHashSet::default(),
        wide_floats: FxHashMap::default(),
        types: FxHashMap::default(),
        globals: FxHashMap::default(),
        functions: FxHashMap::default(),
        templates: Templates::default(),
        enumerators: FxHashMap::default(),
        enumerations: 0,
        scoped_enumerations: FxHashSet::default(),
        global_values: Vec::new(),
        methods: FxHashMap::default(),
        with_methods: FxHashSet::default(),
        static_methods: FxHashSet::default(),
        bases: FxHashMap::default(),
        open_structs: Vec::new(),
        struct_sizes: Vec::new(),
        scopes: Vec::new(),
        namespace: Cow::Borrowed(&[]),
        used: Vec::new(),
        body: Body::default(),
        hidden: FxHashMap::default(),
        flag: None,
        depth: 0,
        too_deep: false,
        is_broken: false,
    };
    let Some(mut parser) = parser() else {
        lowering.problem("the grammar does not fit the parser", Span::default());
        return (lowering.shader, lowering.problems);
    };
    lowering.declare_ray();
    for item in &lexed.items {
        lowering.top_level(&mut parser, item);
    }
    lowering.tell_gaps();
    lowering.tell_strangers();
    (lowering.shader, lowering.problems)
}

impl<'a> Lowering<'a> {
    fn top_level(&mut self, parser: &mut Parser, item: &'a Item) {
        self.base = i64::from(item.span.start);
        let tree = syntax(parser, item.span.slice(&self.lexed.blank));
        let root = tree.as_ref().map(Tree::root_node);
        match root.filter(|root| !root.has_error() && !item.too_deep) {
            Some(root) => {
                let mut cursor = root.walk();
                for node in root.named_children(&mut cursor) {
                    self.item(parser, item, node);
                }
            }
            None => self.broken_item(parser, item, root),
        }
    }

    fn item(&mut self, parser: &mut Parser, item: &'a Item, node: Node) -> Option<FunctionId> {
        self.namespace = self.namespace_of(item);
        if item.kind == ItemKind::Template {
            self.declare_template(item, node);
            return None;
        }
        let function = self.declaration(item, node);
        if std::mem::take(&mut self.too_deep) {
            self.problem("nested too deeply", item.span);
        }
        if let Some(function) = function
            && (item.numthreads.is_some() || item.wave_size.is_some())
        {
            let attributes = self.attributes(parser, item);
            if let Some(function) = self.shader.functions.get_mut(function.0 as usize) {
                (function.group_size, function.group_size_span, function.wave_size) = attributes;
            }
        }
        function
    }

    fn tokens_of(&self, item: &Item) -> &'a [Token] {
        let tokens = &self.lexed.tokens;
        let first = tokens.partition_point(|token| token.start < item.span.start);
        let end = tokens.partition_point(|token| token.start < item.span.end);
        tokens.get(first..end).unwrap_or_default()
    }

    /// Makes the types unknown that an unread item declares with `typedef`. Their names come last in their
    /// declarators.
    fn forget_types(&mut self, item: &Item) {
        let tokens = self.tokens_of(item);
        if !tokens.iter().any(|token| token.word(self.text) == b"typedef") {
            return;
        }
        for pair in tokens.windows(2) {
            let name = pair[0].word(self.text);
            let ends = [b';', b',', b'[', b')']
                .into_iter()
                .any(|punct| pair[1].is(punct));
            if ends && !name.is_empty() {
                self.declare_name(name, Type::Unknown);
            }
        }
    }

    /// Reads as much as possible of an item that has an error, or that has no parse.
    fn broken_item(&mut self, parser: &mut Parser, item: &'a Item, root: Option<Node>) {
        self.namespace = self.namespace_of(item);
        let message = match (item.too_deep, root, item.kind) {
            (true, ..) => "nested too deeply",
            (_, None, _) => "too long or too ambiguous to parse",
            (.., ItemKind::Function { .. }) => "could not parse the body of this function",
            _ => "could not parse this declaration",
        };
        let ItemKind::Function { body } = item.kind else {
            if item.kind != ItemKind::Skipped || item.too_deep {
                self.problem(message, item.span);
            }
            if item.kind == ItemKind::Template {
                self.distrust_templates(item);
            }
            self.forget_types(item);
            let Some(root) = root else {
                return;
            };
            let mut cursor = root.walk();
            let nodes: Vec<Node> = root
                .named_children(&mut cursor)
                .filter(|node| !node.has_error())
                .collect();
            self.is_broken = true;
            for node in nodes {
                self.item(parser, item, node);
            }
            self.is_broken = false;
            return;
        };
        let whole = root.filter(|root| root.named_child_count() == 1);
        let whole = whole.and_then(|root| root.named_child(0)).filter(|node| {
            node.kind() == "function_definition"
                && !item.too_deep
                && part(*node, Part::Declarator).is_some_and(|part| !part.has_error())
                && part(*node, Part::Type).is_some_and(|part| !part.has_error())
        });
        if let Some(node) = whole {
            self.item(parser, item, node);
            return;
        }
        self.problem(message, item.span);
        // The header alone, with an empty body.
        let start = item.span.start;
        let header = Span { start, end: body.0 }.slice(&self.lexed.blank);
        let mut text = header.to_vec();
        text.push(b'}');
        let opaque = vec![Stmt {
            kind: StmtKind::Opaque,
            span: Span {
                start: body.0,
                end: body.1,
            },
        }];
        let tree = if item.too_deep {
            None
        } else {
            syntax(parser, &text)
        };
        if let Some(tree) = tree {
            let root = tree.root_node();
            if !root.has_error()
                && let Some(node) = root.named_child(0)
                && let Some(id) = self.item(parser, item, node)
                && let Some(function) = self.shader.functions.get_mut(id.0 as usize)
            {
                function.body = Some(opaque);
                function.span = item.span;
                return;
            }
        }
        if let Some((name, name_span)) = self.header_name(item) {
            let (group_size, group_size_span, wave_size) = self.attributes(parser, item);
            // No call can name it, because its parameters are unknown.
            self.shader.functions.push(Function {
                name: String::from_utf8_lossy(name).into_owned(),
                name_span,
                span: item.span,
                parameters: Vec::new(),
                locals: Vec::new(),
                returns: Type::Unknown,
                body: Some(opaque),
                group_size,
                group_size_span,
                wave_size,
                is_instance: false,
                is_called_elsewhere: false,
            });
        }
    }

    /// The word before the first parenthesis after the attributes.
    fn header_name(&self, item: &Item) -> Option<(&'a [u8], Span)> {
        let tokens = &self.lexed.tokens;
        let mut index = tokens.partition_point(|token| token.start < item.span.start);
        while let Some(token) = tokens.get(index).filter(|token| token.start < item.span.end) {
            if token.is(b'[') {
                index = self
                    .lexed
                    .partner
                    .get(index)
                    .map_or(index, |&close| (close as usize).min(tokens.len()));
            } else if token.is(b'(') {
                let before = tokens.get(index.checked_sub(1)?)?;
                let name = before.word(self.text);
                return (!name.is_empty()).then_some((
                    name,
                    Span {
                        start: before.start,
                        end: before.end,
                    },
                ));
            }
            index += 1;
        }
        None
    }

    /// `[numthreads]` and `[WaveSize]` of an item, evaluated.
    fn attributes(
        &mut self,
        parser: &mut Parser,
        item: &Item,
    ) -> (Option<[u32; 3]>, Span, Option<(u32, u32)>) {
        let mut group_size = None;
        let mut group_span = Span::default();
        if let Some((span, arguments)) = item.numthreads {
            group_span = span;
            let values = self.attribute_values(parser, arguments);
            if let [Some(x), rest @ ..] = values.as_slice() {
                let one = |index: usize| rest.get(index).copied().unwrap_or(Some(1));
                if let (Some(y), Some(z)) = (one(0), one(1)) {
                    group_size = Some([*x, y, z]);
                }
            }
            if group_size.is_none() {
                self.problem("the group size is not a positive constant", span);
            }
        }
        let wave_size =
            item.wave_size.and_then(
                |arguments| match self.attribute_values(parser, arguments).as_slice() {
                    [Some(size)] => Some((*size, *size)),
                    [Some(least), Some(most), ..] => Some((*least, *most)),
                    _ => None,
                },
            );
        (group_size, group_span, wave_size)
    }

    /// The values of an attribute's arguments.
    pub(super) fn attribute_values(&mut self, parser: &mut Parser, arguments: Span) -> Vec<Option<u32>> {
        let text = self
            .lexed
            .kept
            .get(&arguments.start)
            .map_or(&[][..], Vec::as_slice);
        let values = self.constants(parser, text, arguments.start);
        values
            .into_iter()
            .map(|value| value.and_then(Constant::to_u32))
            .collect()
    }

    /// The values of the constant expressions in an edited text that starts at `start`.
    fn constants(&mut self, parser: &mut Parser, edited: &[u8], start: u32) -> Vec<Option<Constant>> {
        const BEFORE: &[u8] = b"int a[]={";
        let text = [BEFORE, edited, b"};"].concat();
        let Some(tree) = syntax(parser, &text) else {
            return Vec::new();
        };
        let outer = self.base;
        self.base = i64::from(start) - i64::try_from(BEFORE.len()).unwrap_or(0);
        let mut values = Vec::new();
        let list = tree
            .root_node()
            .named_child(0)
            .filter(|node| !node.has_error())
            .and_then(|node| part(node, Part::Declarator))
            .and_then(|node| part(node, Part::Value));
        if let Some(list) = list {
            let mut cursor = list.walk();
            for node in list.named_children(&mut cursor).take(8) {
                let value = self.expression(node);
                values.push(self.evaluate(&value));
            }
        }
        self.base = outer;
        values
    }

    /// The byte range of a node in the expanded text.
    fn span(&self, node: Node) -> Span {
        let place = |offset: usize| {
            let offset = i64::try_from(offset).unwrap_or(0) + self.base;
            u32::try_from(offset.clamp(0, i64::try_from(self.text.len()).unwrap_or(0))).unwrap_or(0)
        };
        let mut span = Span {
            start: place(node.start_byte()),
            end: place(node.end_byte()),
        };
        // Parentheses that the lexical pass removed belong to a node that begins or ends with them, and has more than their content.
        let parentheses = &self.lexed.parentheses;
        while let Some((open, _)) = parentheses
            .get(&span.start)
            .filter(|(open, close)| *open < span.start && *close < span.end)
        {
            span.start = *open;
        }
        while let Some((_, close)) = parentheses
            .get(&span.end)
            .filter(|(open, close)| span.start <= *open && span.end <= *close)
        {
            span.end = *close + 1;
        }
        span
    }

    /// The original text of a span.
    fn source(&self, span: Span) -> &'a [u8] {
        span.slice(self.text)
    }

    fn node_source(&self, node: Node) -> &'a [u8] {
        self.source(self.span(node))
    }

    fn problem(&mut self, message: &str, span: Span) {
        self.tell(TextProblem::new(message, span));
    }

    fn tell(&mut self, problem: TextProblem) {
        // A hostile text must not produce a list that is longer than itself.
        if self.problems.len() < 1000 {
            self.problems.push(problem);
        }
    }

    /// Goes one level deeper. At the limit, returns `false` and enters nothing.
    fn enter(&mut self) -> bool {
        if self.depth >= MAX_DEPTH {
            self.too_deep = true;
            return false;
        }
        self.depth += 1;
        true
    }

    fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    pub(super) fn declare_local(&mut self, name: &'a [u8], ty: Type, span: Span) -> LocalId {
        let id = LocalId(u32::try_from(self.body.locals.len()).unwrap_or(u32::MAX));
        self.body.locals.push(Local {
            name: String::from_utf8_lossy(name).into_owned(),
            ty,
            span,
        });
        self.set_own(name, id);
        id
    }
}
