;;; SPDX-License-Identifier: Apache-2.0
;;; Computes in a chain of functions for the number of milliseconds in its argument.
(defun hot (n)
  (let ((sum 0))
    (declare (fixnum sum n))
    (dotimes (i n sum)
      (setf sum (logxor sum (* i 7))))))

(defun middle (n) (1+ (hot n)))

(defun outer (n) (1+ (middle n)))

(let ((end (+ (get-internal-run-time)
              (* (parse-integer (car (last *posix-argv*))) (/ internal-time-units-per-second 1000)))))
  (loop while (< (get-internal-run-time) end)
        do (outer 100000)))
