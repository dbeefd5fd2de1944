// Reads {definitions, lines} as JSON. Prints a list per line with [name, text] for each match of
// JavaScript's RegExp.
const { definitions, lines } = JSON.parse(require('fs').readFileSync(0, 'utf8'));
const compiled = definitions.map(({ Name, Regex }) => [Name, new RegExp(Regex, 'g')]);
console.log(JSON.stringify(lines.map((line) =>
  compiled.flatMap(([name, regex]) => [...line.matchAll(regex)].map((match) => [name, match[1]])))));
