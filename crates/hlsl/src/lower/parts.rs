//! Children of a syntax node by the grammar's field names, which are looked up once.

use std::num::NonZeroU16;
use std::sync::LazyLock;

use tree_sitter::{Language, Node};

macro_rules! parts {
    ($($variant:ident $name:literal,)*) => {
        /// A field of the grammar.
        #[derive(Clone, Copy)]
        pub(super) enum Part { $($variant,)* }

        static IDS: LazyLock<Vec<Option<NonZeroU16>>> = LazyLock::new(|| {
            let language = Language::from(tree_sitter_hlsl::LANGUAGE_HLSL);
            vec![$(language.field_id_for_name($name),)*]
        });
    };
}

parts! {
    Alternative "alternative",
    Argument "argument",
    Arguments "arguments",
    Base "base",
    Body "body",
    Condition "condition",
    Consequence "consequence",
    Declarator "declarator",
    DefaultValue "default_value",
    Field "field",
    Function "function",
    Index "index",
    Indices "indices",
    Initializer "initializer",
    Left "left",
    Name "name",
    Operator "operator",
    Parameters "parameters",
    Right "right",
    Size "size",
    Type "type",
    Update "update",
    Value "value",
}

/// The child in a field of a node.
pub(super) fn part(node: Node<'_>, part: Part) -> Option<Node<'_>> {
    let id = IDS.get(part as usize).copied().flatten()?;
    node.child_by_field_id(id.get())
}
