//! Functions: parameters, statements, the result.

use naga::Statement;
use shaderlint_hlsl::{Direction, Type};

use super::LowerError;
use super::body::{Body, Place};
use super::module::ModuleBuilder;
use super::reach::Instance;
use super::types::simplify;

/// Lowers a function that other functions call.
pub(super) fn lower_function(
    module: &mut ModuleBuilder<'_>,
    instance: &Instance,
) -> Result<naga::Function, LowerError> {
    let mut body = Body::new(module, instance)?;
    body.parameters()?;
    body.finish()
}

impl Body<'_, '_> {
    fn parameters(&mut self) -> Result<(), LowerError> {
        let source = self.source;
        for parameter in &source.parameters {
            let Some(local) = source.locals.get(parameter.local.0 as usize) else {
                return Err(LowerError::unsupported(
                    "a parameter without a variable",
                    source.name_span,
                ));
            };
            if matches!(local.ty, Type::Resource(..)) {
                continue;
            }
            let ty = self.module.value_type(&local.ty, local.span)?;
            let is_pointer = parameter.direction != Direction::In;
            let argument_type = if is_pointer {
                self.module.unnamed_type(naga::TypeInner::Pointer {
                    base: ty,
                    space: naga::AddressSpace::Function,
                })
            } else {
                ty
            };
            let argument = self.argument(&local.name, argument_type, None);
            if is_pointer {
                let place = Place::plain(argument, simplify(&local.ty));
                self.set_local(parameter.local, place);
            } else {
                let place = self.local(parameter.local, local.span)?;
                self.push(Statement::Store {
                    pointer: place.pointer,
                    value: argument,
                });
            }
        }
        if source.returns != Type::Void {
            let ty = self.module.value_type(&source.returns, source.name_span)?;
            self.function.result = Some(naga::FunctionResult { ty, binding: None });
        }
        Ok(())
    }

    /// Lowers the statements, once the parameters are there.
    pub(super) fn finish(mut self) -> Result<naga::Function, LowerError> {
        let Some(statements) = &self.source.body else {
            return Err(LowerError::unsupported(
                "a function without a body",
                self.source.name_span,
            ));
        };
        self.statements(statements)?;
        if self.function.result.is_some() && !matches!(self.block.last(), Some(Statement::Return { .. })) {
            // HLSL leaves the value of a path without `return` undefined.
            let zero = self.zero(&self.source.returns, self.source.name_span)?;
            self.push(Statement::Return { value: Some(zero) });
        }
        self.function.body = self.block;
        Ok(self.function)
    }
}
