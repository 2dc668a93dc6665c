internal import Atto
import AttoGATT
import Foundation

extension PublishingEngine: ServicePublisher {
  /// The object for a client; nil if it has disconnected.
  func central(_ client: ClientID) -> CBCentral? {
    let mtu = radio?.server.mtuNow(of: client) ?? 23
    if let known = centrals[client] {
      known.mtu.value = mtu
      return known
    }
    guard let identifier = radio?.host.identifier(of: client) else { return nil }
    let made = CBCentral(client, identifier: identifier, mtu: mtu)
    centrals[client] = made
    return made
  }

  func configured(
    _ handle: AttributeHandle, _ configuration: ClientCharacteristicConfiguration,
    _ client: ClientID
  ) {
    guard let entry = entries[handle], let central = central(client) else { return }
    let was = entry.subscribers[client] != nil
    entries[handle]?.subscribers[client] = configuration.isEmpty ? nil : configuration
    let isSubscribed = !configuration.isEmpty
    guard was != isSubscribed else { return }
    let about = UncheckedBox((central, entry.characteristic.content))
    post { manager in
      let (central, characteristic) = about.content
      characteristic.publication.withLock { publication in
        publication.subscribers.removeAll { $0 === central }
        if isSubscribed { publication.subscribers.append(central) }
      }
      if isSubscribed {
        manager.delegate?.peripheralManager(
          manager, central: central, didSubscribeTo: characteristic)
      } else {
        manager.delegate?.peripheralManager(
          manager, central: central, didUnsubscribeFrom: characteristic)
      }
    }
  }

  func left(_ client: ClientID) {
    for handle in entries.keys.sorted() where entries[handle]?.subscribers[client] != nil {
      configured(handle, [], client)
    }
    updates.removeValue(forKey: client)?.end()
    centrals[client] = nil
  }

  // MARK: Requests

  func read(_ question: Question, offset: Int) -> ReadAnswer {
    guard let entry = entries[question.handle], let central = central(question.client),
      let server = radio?.server
    else { return .refused(.unlikelyError) }
    let pending = PendingRequest(question, server)
    let about = UncheckedBox((central, entry.characteristic.content))
    post { manager in
      let (central, characteristic) = about.content
      let request = CBATTRequest(
        central: central, characteristic: characteristic, offset: offset, value: nil,
        pending: pending)
      if let delegate = manager.delegate {
        delegate.peripheralManager(manager, didReceiveRead: request)
      } else {
        manager.respond(to: request, withResult: .requestNotSupported)
      }
    }
    return .later
  }

  func write(
    _ question: Question, _ parts: [PreparedWrite], _ delivered: @escaping @Sendable () -> Void
  ) -> WriteAnswer {
    let targets = parts.compactMap { entries[$0.handle]?.characteristic.content }
    guard targets.count == parts.count, let central = central(question.client),
      let server = radio?.server
    else {
      delivered()
      return .refused(.unlikelyError)
    }
    let pending = PendingRequest(question, server)
    let about = UncheckedBox((central, targets))
    queue.async { [object] in
      defer { delivered() }
      guard let manager = object.value.object else { return }
      let (central, targets) = about.content
      let requests = zip(targets, parts).map { characteristic, part in
        CBATTRequest(
          central: central, characteristic: characteristic, offset: part.offset,
          value: Data(part.part), pending: pending)
      }
      if let delegate = manager.delegate {
        delegate.peripheralManager(manager, didReceiveWrite: requests)
      } else if let first = requests.first {
        manager.respond(to: first, withResult: .requestNotSupported)
      }
    }
    return question.kind == .writeCommand ? .accepted : .later
  }
}
