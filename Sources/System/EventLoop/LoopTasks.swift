/// A loop as the preferred executor of tasks, for `Task(executorPreference: loop.tasks)` and
/// `withTaskExecutorPreference(loop.tasks)`.
///
/// # Theory
/// A step of a task runs either on an actor's executor or on the preferred one. An executor must
/// say which of the two it is when it runs a step. A step that is told it runs on an actor's
/// executor leaves it for each function that belongs to no actor, which costs a turn of the queue
/// for each `await`. Both kinds of steps arrive at a function of the same name, so they need two
/// objects: ``Loop`` accepts the steps of actors, this one those of tasks. Both run on the loop's
/// thread, from the same queue.
///
/// It lives as long as its loop.
public final class LoopTasks: TaskExecutor {
  private unowned let loop: Loop

  init(_ loop: Loop) { self.loop = loop }

  /// Accepts a step of a task. Called by the concurrency runtime.
  public func enqueue(_ job: consuming ExecutorJob) {
    loop.add(.task(UnownedJob(job)))
  }
}
