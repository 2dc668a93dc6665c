import AttoEventLoop
import AttoLinks

extension Adapter {
  /// Advertises until the result is stopped or released, or the adapter is closed.
  ///
  /// A radio of the virtual air has one advertisement at a time; a kernel adapter as many as its
  /// controller supports. A kernel adapter that is set to be connectable advertises connectably in
  /// any case. One that is not uses a changing private address for an advertisement that is not
  /// connectable. Before Linux 5.11 the kernel chooses the interval.
  ///
  /// - Throws: `advertisingData` if the fields do not fit, `invalidInterval`; `alreadyAdvertising`,
  ///   `addressInUse` on the virtual air; `tooManyAdvertisements`, `poweredOff`, `management`, and
  ///   `link` if connections cannot be accepted, on a kernel adapter; `closed`, or a system error.
  public func advertise(
    _ parameters: AdvertisingParameters
  ) async throws(RadioError) -> Advertisement {
    if let endReason { throw endReason }
    guard state == .poweredOn else { throw .poweredOff(label) }
    let octets = try parameters.laidOut()
    let id = nextID()
    // Before the advertisement is on the air: a central may connect before the backend returns.
    advertisements[id] = AdvertisedLinks(parameters)
    do throws(RadioError) {
      try await backend.advertise(id, parameters, octets)
      if let endReason { throw endReason }
    } catch {
      stopAdvertising(id)
      throw error
    }
    return Advertisement(id, on: self)
  }

  func update(_ id: UInt64, _ parameters: AdvertisingParameters) async throws(RadioError) {
    guard let advertisement = advertisements[id], !advertisement.isOver else { throw .closed }
    try await backend.updateAdvertisement(id, parameters, try parameters.laidOut())
    advertisement.parameters = parameters
    backend.acceptMore()
  }

  func stopAdvertising(_ id: UInt64) {
    backend.endAdvertisement(id)
    guard let advertisement = advertisements.removeValue(forKey: id) else { return }
    advertisement.drop()
    advertisement.finish()
    backend.acceptMore()
  }

  // MARK: Connections

  /// The oldest advertisement that accepts connections. No radio tells which of several
  /// advertisements a central has answered.
  private var accepting: (id: UInt64, links: AdvertisedLinks)? {
    advertisements.filter { !$0.value.isOver && $0.value.parameters.isConnectable }
      .min { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  var hasRoom: Bool {
    guard let accepting else { return true }
    return accepting.links.count < Self.queueLimit
  }

  func deliver(_ link: ConnectedLink) {
    guard let (id, links) = accepting else { return }
    links.add(link)
    guard links.parameters.stopsWhenConnected else { return }
    backend.endAdvertisement(id)
    links.finish()
  }

  func acceptFailed(_ error: LinkError) {
    for advertisement in advertisements.values where !advertisement.isOver {
      advertisement.fail?(error)
    }
  }

  /// The next connection; nil when the advertisement has ended or the task is cancelled.
  func nextLink(_ id: UInt64) async -> ConnectedLink? {
    guard let advertisement = advertisements[id] else { return nil }
    do throws(RadioError) {
      return try await loop.withLocalWaiter { (waiter: Waiter<ConnectedLink?, RadioError>) in
        if let link = advertisement.removeFirst() {
          backend.acceptMore()
          return waiter.resume(.success(link))
        }
        guard !advertisement.isOver else { return waiter.resume(.success(nil)) }
        advertisement.waiters.append(waiter)
      }
    } catch {
      return nil
    }
  }
}

extension AdvertisingParameters {
  /// The octets of both parts.
  ///
  /// - Throws: `invalidInterval`, `advertisingData` if the fields do not fit.
  fileprivate func laidOut() throws(RadioError) -> LegacyAdvertisement {
    guard Self.intervalRange.contains(interval) else { throw .invalidInterval(interval) }
    do throws(AdvertisingDataError) {
      return switch content {
      case .fields(let data): try LegacyAdvertisement(data, isConnectable: isConnectable)
      case .octets(let octets): octets
      }
    } catch {
      throw .advertisingData(error)
    }
  }
}
