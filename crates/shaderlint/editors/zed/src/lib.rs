//! Starts `shaderlint server` in Zed: the program that the settings name, else the one on the `PATH`.

use zed_extension_api::settings::LspSettings;
use zed_extension_api::{
    Command, Extension, LanguageServerId, Result, Worktree, register_extension, serde_json,
};

/// What Zed's settings call it, under `lsp`.
const NAME: &str = "shaderlint";

struct Shaderlint;

impl Extension for Shaderlint {
    fn new() -> Self {
        Shaderlint
    }

    fn language_server_command(&mut self, _: &LanguageServerId, worktree: &Worktree) -> Result<Command> {
        let binary = LspSettings::for_worktree(NAME, worktree)?.binary;
        let (path, arguments, env) = match binary {
            Some(binary) => (binary.path, binary.arguments, binary.env),
            None => (None, None, None),
        };
        let missing = || {
            format!(
                "no `{NAME}` on the PATH: install it, or name it in the settings as `lsp.{NAME}.binary.path`"
            )
        };
        // What the settings say of a variable comes last, and holds.
        let env = env.into_iter().flatten();
        Ok(Command {
            command: path.or_else(|| worktree.which(NAME)).ok_or_else(missing)?,
            args: arguments.unwrap_or_else(|| vec!["server".to_owned()]),
            env: worktree.shell_env().into_iter().chain(env).collect(),
        })
    }

    fn language_server_initialization_options(
        &mut self,
        _: &LanguageServerId,
        worktree: &Worktree,
    ) -> Result<Option<serde_json::Value>> {
        Ok(LspSettings::for_worktree(NAME, worktree)?.initialization_options)
    }

    fn language_server_workspace_configuration(
        &mut self,
        _: &LanguageServerId,
        worktree: &Worktree,
    ) -> Result<Option<serde_json::Value>> {
        // The server asks for what is under its name.
        let settings = LspSettings::for_worktree(NAME, worktree)?.settings;
        Ok(settings.map(|settings| serde_json::json!({ NAME: settings })))
    }
}

register_extension!(Shaderlint);
