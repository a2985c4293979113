//! What a rule is, and what it sees.

use shaderlint_hlsl::{Function, FunctionId, Global, GlobalId, Shader, Span};
use shaderlint_simt::{Analysis, Kernel};

use crate::finding::{Finding, FixForm};
use crate::level::{Category, GivenLevel};
use crate::place::locate;
use crate::reach::reached;
use crate::shader_model::ShaderModel;
use crate::suppress::SuppressionIndex;

/// A rule is data and a function.
#[derive(Debug)]
pub struct Rule {
    /// In kebab-case; reads well after "allow".
    pub id: &'static str,
    pub category: Category,
    /// One line, without a full stop.
    pub summary: &'static str,
    /// Ids of other publishers for the same problem. Several of our rules may share one.
    pub aliases: &'static [&'static str],
    /// The rule's page, in Markdown.
    pub explanation: &'static str,
    /// Adds its findings in one entry point's run.
    pub check: fn(&Context<'_>, &mut Vec<Finding>),
}

impl Rule {
    /// Whether `id` is this rule's id or one of its aliases.
    #[must_use]
    pub fn is_named(&self, id: &str) -> bool {
        self.id == id || self.aliases.contains(&id)
    }
}

/// What a rule sees: one entry point and what its run showed.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    pub shader: &'a Shader,
    pub entry: FunctionId,
    pub analysis: &'a Analysis,
    /// The target's model, given or guessed.
    pub shader_model: ShaderModel,
    /// Whether the rule's findings are shown: see [`Context::shows`].
    pub(crate) is_shown: bool,
    /// Which form of a fix comes first, where there are two.
    pub form: FixForm,
    pub(crate) suppressions: &'a SuppressionIndex,
    /// Whether nobody waits for the findings any more: proofs may end early.
    pub is_stopped: &'a dyn Fn() -> bool,
}

impl<'a> Context<'a> {
    #[must_use]
    pub fn kernel(&self) -> Kernel<'a> {
        Kernel::new(self.shader, self.entry)
    }

    /// A global by its id.
    #[must_use]
    pub fn global(&self, id: GlobalId) -> Option<&'a Global> {
        self.shader.globals.get(id.0 as usize)
    }

    /// A function by its id.
    #[must_use]
    pub fn function(&self, id: FunctionId) -> Option<&'a Function> {
        self.shader.functions.get(id.0 as usize)
    }

    /// The functions that a run may reach, the entry point among them.
    pub fn reached(&self) -> impl Iterator<Item = &'a Function> {
        let reached = reached(self.shader, [self.entry]);
        let functions = self.shader.functions.iter().zip(reached);
        functions.filter_map(|(function, is_reached)| is_reached.then_some(function))
    }

    /// Whether a finding that needs this shader model is shown. Any other finding only tells which comments are of use:
    /// no time goes into its fix.
    #[must_use]
    pub fn shows(&self, needs: ShaderModel) -> bool {
        self.is_shown && needs <= self.shader_model
    }

    /// Whether a comment silences a finding of `rule` here. A rule that makes one finding of several places keeps
    /// silenced ones apart.
    #[must_use]
    pub fn is_allowed(&self, rule: &Rule, place: Span) -> bool {
        let place = locate(self.shader, place);
        place.is_some_and(|place| {
            self.suppressions
                .allowing(|id| rule.is_named(id), place)
                .is_some()
        })
    }

    /// Whether the group has more than one row: then nothing tells which threads share a wave
    /// (`HLSL_SM_6_6_Derivatives.md`).
    #[must_use]
    pub fn has_rows(&self) -> bool {
        let [_, y, z] = self.analysis.group_size;
        y > 1 || z > 1
    }
}

/// What the caller sets for a whole run.
#[derive(Clone, Copy)]
pub struct Settings<'a> {
    /// The shader model to compile for; `None` takes the one that the file names, else 6.0.
    pub shader_model: Option<ShaderModel>,
    /// The level of a rule in the file of this path.
    pub level: &'a dyn Fn(&Rule, &str) -> GivenLevel,
    /// Which form of a fix comes first, where there are two.
    pub form: FixForm,
    /// Whether nobody waits for the report any more. The linter asks before each entry point and each rule, and then
    /// skips the rest; such a report must not be shown.
    pub is_stopped: &'a dyn Fn() -> bool,
}

impl Default for Settings<'_> {
    fn default() -> Self {
        Settings {
            shader_model: None,
            level: &|rule, _| GivenLevel::OfCategory(rule.category.level()),
            form: FixForm::default(),
            is_stopped: &|| false,
        }
    }
}
