// Reads {definitions, lines} as JSON; prints for each line the [name, captured text] that JavaScript's RegExp finds.
const { definitions, lines } = JSON.parse(require('fs').readFileSync(0, 'utf8'));
const compiled = definitions.map(({ Name, Regex }) => [Name, new RegExp(Regex, 'g')]);
console.log(JSON.stringify(lines.map((line) =>
  compiled.flatMap(([name, regex]) => [...line.matchAll(regex)].map((match) => [name, match[1]])))));
