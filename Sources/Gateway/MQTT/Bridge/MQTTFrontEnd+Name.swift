import AttoEventLoop
import AttoGateway
import AttoText

/// Whether this gateway has its name at the broker.
///
/// # Theory
/// Two gateways of one name would publish to the same topics. Each has an ID, its instance, which its status has
/// too. On a connection it subscribes to its status and to the topic `claim`, and publishes its claim there:
///
///     none --connected--> claiming --own claim comes back, or time--> own
///                            '--the owner's answer--> none, until ``refusalTime`` has passed
///
/// The owner of the name answers claims of others. A retained status of another that is online may be one that the
/// broker has kept since that gateway died: then the answer decides, or its absence. Of two gateways that claim a
/// name at one moment, or believe to have it, the one with the lower ID gets it.
enum NameClaim {
  case none
  /// - Parameter isDoubtful: whether the status of another says that it is online.
  case claiming(isDoubtful: Bool, LoopTimer)
  case own
}

extension MQTTFrontEnd {
  /// The time for an owner to answer.
  static let claimTime: Duration = .seconds(3)
  /// The time after which a gateway whose name is taken claims it again.
  static let refusalTime: Duration = .seconds(60)

  func claimName() {
    let timer = LoopTimer(after: Self.claimTime, on: loop) { [weak self] in
      guard let self else { return }
      self.assumeIsolated { $0.ownName() }
    }
    claim = .claiming(isDoubtful: false, timer)
    publisher?.subscribe([names.status, names.claim])
    publishClaim("claimed")
  }

  func nameEnded() {
    if case .claiming(_, let timer) = claim { timer.cancel() }
    claim = .none
  }

  private func ownName() {
    guard case .claiming(_, let timer) = claim else { return }
    timer.cancel()
    claim = .own
    begin()
  }

  /// Another gateway has the name.
  private func refuseName() {
    nameEnded()
    loop.execute(LoopBound(self, loop)) { frontEnd in
      frontEnd.assumeIsolated { $0.publisher?.suspend($0.gateway, for: Self.refusalTime) }
    }
  }

  private func publishClaim(_ state: String) {
    publisher?.sendFirst(Outgoing(topic: names.claim, payload: gatewayStatus(state)))
  }

  /// Whether the message was about the gateway's name.
  func receiveAboutName(_ message: BrokerMessage) -> Bool {
    guard message.topic == names.status || message.topic == names.claim else { return false }
    guard let found = Self.status(message.payload), let other = found.id else { return true }
    if message.topic == names.claim {
      if found.state == "claimed" { claimed(by: other) }
      if found.state == "taken", other != instance, case .claiming = claim { refuseName() }
    } else if other != instance {
      received(found.state, of: other, isRetained: message.isRetained)
    }
    return true
  }

  private func claimed(by other: String) {
    switch claim {
    case .claiming(false, _) where other == instance: ownName()
    case .claiming where other < instance: refuseName()
    case .own where other != instance: publishClaim("taken")
    default: break
    }
  }

  /// The status of another gateway of this name.
  private func received(_ state: String, of other: String, isRetained: Bool) {
    switch claim {
    case .claiming(_, let timer) where state == "online":
      if !isRetained { return refuseName() }
      claim = .claiming(isDoubtful: true, timer)
    case .own where !isRetained:
      if state == "online", other < instance { return refuseName() }
      publish(names.status, gatewayStatus("online"))
    default: break
    }
  }

  /// The gateway of a status, its state, and its ID, which earlier versions do not have.
  static func status(_ payload: [UInt8]) -> (gateway: String, state: String, id: String?)? {
    guard let texts = JSON.texts(of: payload, limit: 1024) else { return nil }
    guard let gateway = texts["gateway"], let state = texts["state"] else { return nil }
    return (gateway, state, texts["id"])
  }
}
