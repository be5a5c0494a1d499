! What a program calls, written into a file of EXPECT_DIR at its end: "MPI_Send 3".
module tallies
  implicit none
  character(len=48) :: names(300)
  integer :: counts(300), used = 0
contains
  subroutine tally(name)
    character(len=*), intent(in) :: name
    integer :: i
    do i = 1, used
      if (names(i) == name) then
        counts(i) = counts(i) + 1
        return
      end if
    end do
    used = used + 1
    names(used) = name
    counts(used) = 1
  end subroutine tally

  subroutine write_tallies(rank)
    integer, intent(in) :: rank
    character(len=1024) :: folder
    character(len=16) :: number
    integer :: i, status
    call get_environment_variable("EXPECT_DIR", folder, status=status)
    if (status /= 0) return
    write (number, "(i0)") rank
    open (unit=17, file=trim(folder)//"/fortran."//trim(number), status="replace")
    do i = 1, used
      write (17, "(a,1x,i0)") trim(names(i)), counts(i)
    end do
    close (17)
  end subroutine write_tallies
end module tallies
