/// A loop as the executor that tasks prefer: for `Task(executorPreference: loop.tasks)` and
/// `withTaskExecutorPreference(loop.tasks)`.
///
/// # Theory
/// The concurrency runtime asks of every step of a task where it has to run: on an actor's own
/// executor, or anywhere, which a preference narrows down. What runs a step must say which of the
/// two it is, because a step that is told it runs on an actor's executor has to leave it again
/// for each function that belongs to no actor: a turn of the queue for each `await`. Both arrive
/// by a function of the same name, so they need two objects: ``Loop`` takes the steps of actors,
/// this takes those of tasks. Both run on the loop's thread, from the same queue.
///
/// Lives as long as its loop.
public final class LoopTasks: TaskExecutor {
  private unowned let loop: Loop

  init(_ loop: Loop) { self.loop = loop }

  /// Takes a step of a task. Called by the concurrency runtime.
  public func enqueue(_ job: consuming ExecutorJob) {
    loop.add(.task(UnownedJob(job)))
  }
}
