//! Blocks: how deeply they may stand in each other, and the steps that they take.

use handlebars::Template;
use handlebars::template::TemplateElement;

use super::function::STEPS;

/// The template asks for a part of another template.
#[derive(Debug)]
pub(super) struct Unavailable;

/// Returns the number of blocks with their `else` parts, or that of opening brackets if it is larger. None of them can stand more deeply
/// in each other, and the library calls itself for each that does. Nothing is taken off for what is closed: a bracket in a text or
/// a tag in a comment closes nothing, and only the library's own grammar knows which these are.
pub(super) fn depth_at_most(source: &str) -> usize {
    let is_part = |action: &&str| {
        let action = action.trim_start_matches(['{', '~', ' ', '\t', '\r', '\n']);
        action.starts_with(['#', '^']) || action.starts_with("else")
    };
    let parts = source.split("{{").skip(1).filter(is_part).count();
    let objects = source.split("{{").map(|text| text.matches('{').count()).sum::<usize>();
    let brackets = source.matches(['(', '[']).count() + objects;
    parts.max(brackets)
}

/// Makes each block report the steps that it takes when it runs, and finds parts that are not there to be run.
pub(super) fn prepare(template: &mut Template) -> Result<(), Unavailable> {
    for element in &mut template.elements {
        match element {
            TemplateElement::HelperBlock(block) => {
                let inner = [&mut block.template, &mut block.inverse];
                inner.into_iter().flatten().try_for_each(prepare)?;
            }
            TemplateElement::DecoratorExpression(_)
            | TemplateElement::DecoratorBlock(_)
            | TemplateElement::PartialExpression(_)
            | TemplateElement::PartialBlock(_) => return Err(Unavailable),
            _ => {}
        }
    }
    let steps = Template::compile(&format!("{{{{{STEPS} {}}}}}", template.elements.len() + 1));
    let steps = steps.map_err(|_| Unavailable)?;
    template.elements.splice(0..0, steps.elements);
    template.mapping.splice(0..0, steps.mapping);
    Ok(())
}
