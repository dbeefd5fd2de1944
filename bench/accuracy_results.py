"""The results file of bench/accuracy, which several processes may complete at the same time.

    {"images": {...}, "recipes": {TASK: {...}}, "runs": [RUN, ...]}

images: name, numbers of training and validation images, digest. recipes: the settings of each task
that has runs. RUN, one per line: task, program, seed, model, threads, top1 (accuracies after each
epoch), seconds, version (of the program), torch (version).
"""

import json

import environment

PROGRAMS = ("shoal", "pytorch")


class Results:
    """Reads the file anew for every call. Ends this process if the file's runs used other images or
    recipes."""

    def __init__(self, file, images, recipes):
        self.file, self.images, self.recipes = file, images, recipes

    def read(self):
        if not self.file.exists():
            return {"images": self.images, "recipes": {}, "runs": []}
        try:
            content = json.loads(self.file.read_text())
            theirs, recipes = content["images"], content["recipes"]
        except (ValueError, KeyError) as error:
            environment.fail(f"{self.file} is not a results file: {error!r}")
        if any(theirs.get(key) != self.images[key] for key in ("train", "val", "digest")):
            environment.fail(f"{self.file} has runs with other images: {theirs}, not "
                             f"{self.images}; pass another --results FILE")
        for task, recipe in recipes.items():
            if recipe != self.recipes.get(task):
                environment.fail(f"{self.file} has runs of another recipe of task {task}; "
                                 "pass another --results FILE")
        return content

    def find(self, *key):
        """Returns the run of (task, program, seed), or None."""
        return by_key(self.read()).get(key)

    def add(self, run):
        """Adds a run, unless another process has added the same run meanwhile."""
        with environment.locked(self.file.resolve().parent):
            content = self.read()
            runs = {key_of(run): run, **by_key(content)}
            used = {task for task, _, _ in runs}
            tasks = [task for task in self.recipes if task in used]

            def order(key):
                return tasks.index(key[0]), PROGRAMS.index(key[1]), key[2]

            content["recipes"] = {task: self.recipes[task] for task in tasks}
            content["runs"] = [runs[key] for key in sorted(runs, key=order)]
            whole = self.file.with_name(self.file.name + ".new")
            whole.write_text(text(content))
            whole.replace(self.file)

    def complete(self):
        """Returns {task: {program: runs}} of the seeds that all programs have run."""
        runs, found = by_key(self.read()), {}
        for task, program, seed in runs:
            if all((task, other, seed) in runs for other in PROGRAMS):
                of_task = found.setdefault(task, {name: [] for name in PROGRAMS})
                of_task[program].append(runs[task, program, seed])
        return found


def key_of(run):
    return run["task"], run["program"], run["seed"]


def by_key(content):
    return {key_of(run): run for run in content["runs"]}


def text(content):
    recipes = ",\n".join(f"{json.dumps(task)}: {json.dumps(recipe)}"
                         for task, recipe in content["recipes"].items())
    runs = ",\n".join(map(json.dumps, content["runs"]))
    return (f'{{"images": {json.dumps(content["images"])},\n"recipes": {{\n{recipes}\n}},\n'
            f'"runs": [\n{runs}\n]}}\n')
