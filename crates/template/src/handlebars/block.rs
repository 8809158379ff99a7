//! Blocks: how deeply they stand in each other, and the steps that they take.

use handlebars::Template;
use handlebars::template::TemplateElement;

use super::helper::STEPS;

/// The template asks for a part of another template.
#[derive(Debug)]
pub(super) struct Unavailable;

/// Returns how deeply blocks, chains of `else` and parentheses stand in each other: the library calls itself for each of
/// them. Text that looks alike counts too.
pub(super) fn depth(source: &str) -> usize {
    let mut deepest = 0;
    // The blocks that are open, and how many parts each has so far.
    let mut open: Vec<usize> = Vec::new();
    for action in source.split("{{").skip(1) {
        let action = action.trim_start_matches(['{', '~', ' ', '\t', '\r', '\n']);
        if action.starts_with('#') || action.starts_with("else") || action.starts_with('^') {
            match open.last_mut().filter(|_| !action.starts_with('#')) {
                Some(parts) => *parts += 1,
                None => open.push(1),
            }
        } else if action.starts_with('/') {
            open.pop();
        }
        deepest = deepest.max(open.iter().sum::<usize>() + brackets(action));
    }
    deepest
}

fn brackets(text: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for character in text.chars() {
        match character {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
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
