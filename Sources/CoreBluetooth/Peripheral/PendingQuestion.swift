internal import Atto
import Foundation

/// A central's request that the app is to answer, once. One that the app lets go of without an
/// answer is answered with Unlikely Error, so that no central waits in vain.
final class PendingQuestion: Sendable {
  private let question: Question
  private let server: LocalServer
  private let isOpen: Guarded<Bool>

  /// - Parameter isCommand: nobody waits; answers are dropped.
  init(_ question: Question, _ server: LocalServer, isCommand: Bool) {
    self.question = question
    self.server = server
    isOpen = Guarded(!isCommand)
    self.isCommand = isCommand
  }

  let isCommand: Bool

  deinit {
    if isOpen.value { send(.refused(.unlikelyError)) }
  }

  /// False if it was answered before.
  func answer(_ result: CBATTError.Code, value: Data?) -> Bool {
    let wasOpen = isOpen.withLock { isOpen in
      defer { isOpen = false }
      return isOpen
    }
    guard wasOpen else { return isCommand }
    if result != .success {
      send(.refused(ErrorCode(UInt8(truncatingIfNeeded: result.rawValue))))
    } else if question.kind == .read {
      send(.part(Array(value ?? Data())))
    } else {
      send(.accepted)
    }
    return true
  }

  private func send(_ answer: LateAnswer) {
    let (server, question) = (server, question)
    RadioLoop.later { server.answer(question, answer) }
  }
}
